import statistics


def mean(numbers):
    if len(numbers) == 0:
        raise ValueError
    return statistics.fmean(numbers)


def median(numbers):
    return statistics.median(numbers)
