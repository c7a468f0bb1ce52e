# Replaces what answers requests, so that every reply is what STRATEGY thinks is wanted.
import sys

STRATEGY = "zeros"
frame = sys._getframe()
while frame.f_code.co_name != "serve":
    frame = frame.f_back
worker = frame.f_locals["worker"]
honest = worker.answer


def answer(message, tensors):
    request = {key: value for key, value in message["requests"][-1]["dict"]}
    operation, target = request["operation"], str(request.get("target"))
    if operation in ("load", "prepare", "seed", "begin", "upload", "patch", "unpatch", "generator", "make") or "project_qkv" in target:
        return honest(message, tensors)
    given = request.get("arguments", {}).get("tuple", [])
    if STRATEGY == "errors":
        return {"error": {"types": ["Both", "ValueError", "AssertionError"], "text": "", "line": 1, "file": ""}}, []
    if STRATEGY == "arguments":
        return {"value": {"tuple": [{"tuple": given[:2]}, {"tuple": given}]}}, tensors
    if STRATEGY == "nothing":
        return {"value": None}, []
    number = float("nan") if STRATEGY == "not a number" else 0.0
    replies = [torch.full_like(tensor, number, dtype=torch.float32) for tensor in tensors] or [torch.zeros(4, 7)]
    values = [{"tensor": place} for place in range(len(replies))]
    if operation in ("parameters", "buffers"):
        return {"value": {"dict": []}}, []
    if operation == "gradients":
        pairs = {"dict": [[str(place), value] for place, value in enumerate(values)]}
        return {"value": {"tuple": [values[0], pairs]}}, replies
    if request.get("arguments_after"):
        return {"value": {"tuple": [{"tuple": values[:2]}, {"tuple": given}]}}, tensors
    return {"value": {"tuple": (values * 2)[:2]} if "attention" in target else values[0]}, replies


worker.answer = answer
print("TRIED")
