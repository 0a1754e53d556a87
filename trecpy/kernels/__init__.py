"""The compiled core: the only folder that imports numba. Its files import nothing else of ours."""
