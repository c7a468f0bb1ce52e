"""The sandbox: the verdict on one side of a socket, the student's code on the other."""
