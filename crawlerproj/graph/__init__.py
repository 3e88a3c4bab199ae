"""Who points to whom? The edge log of a crawl, the compressed graph built from it, and its server.

A crawl appends pages with their links to an edge log (`edge_log`). `build` sorts all logs into a
dictionary of URLs (`url_ids`), out-links and in-links (`compact`, or `classic` for exchange with
WebGraph) and anchor texts (`anchors`). `connectivity` answers questions over a finished build,
`rank` and `components` analyse it, `serve` answers over HTTP on loopback.
"""
