# %% [markdown]
# # $title
#
# TODO (author): say what the unit is about.
