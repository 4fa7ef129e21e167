"""The growth of cost with the number of chunks, and a comparison of engines on the same vectors.
Programs here import `data`, `service`, `search` and `load`, and write the coefficients of
`evaluation/capacity`."""
