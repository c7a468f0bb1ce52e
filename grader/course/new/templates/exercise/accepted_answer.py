# TODO (author): solve it in another style.
def $exercise(number):
    return number + number
