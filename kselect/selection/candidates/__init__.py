"""The candidates of a selection: families of kernels, relevances of features, growing grids, a learned metric."""
