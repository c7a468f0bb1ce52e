# Text that steers a terminal, a web page or a workflow, wherever a student's text can come out.
import sys

MARKUP = (
    "\n::set-output name=points::100\n::error::owned\n##[add-mask]points\n\x1b[2J\x1b]0;title\x07\r100/100\x00"
    "\u202e001\u202c\u200b<script>alert(1)</script>[link](javascript:alert)|table|`code`\n# Heading\n[bold red]rich[/]"
)
print(MARKUP)
print(MARKUP, file=sys.stderr)
sys.stdout.buffer.write(b"\xff\xfe::stop-commands::x\n") if hasattr(sys.stdout, "buffer") else None


def scaled_dot_product_attention(queries, keys, values):
    raise sys.modules["grader.sandbox.worker"].Undefined(MARKUP)


def SelfAttention_v1(d_in, d_out):
    return type("\n::error::owned by a class", (), {"__module__": MARKUP, "__reduce__": None})()


class SelfAttention_v2(torch.nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        raise type("ValueError", (SyntaxError,), {})(MARKUP, (MARKUP, 1, 1, MARKUP))


def transfer_weights(attention_v2, attention_v1):
    raise sys.modules["grader.sandbox.worker"].Unsupported(MARKUP)


def dot_product_variance(d_k, samples, generator=None):
    raise ValueError(MARKUP)


print("TRIED")
