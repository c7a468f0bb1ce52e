"""What helps students at work: checking their answers, hints, progress, pictures and notebooks."""
