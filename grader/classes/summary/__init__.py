"""The page on a class: how it is doing, by exercise, mistake and quiz item, and who needs help."""
