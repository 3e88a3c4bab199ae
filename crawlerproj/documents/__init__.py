"""Have we this content, and where do we keep it?

Content-seen: fingerprint -> near_duplicates -> content_seen (with path_families, duplicate_share, soft_404),
on the small `tables` of storage. Archive: records -> archive -> archive_files, and recovery after a crash;
beside each WARC file its index (cdx, index_files, index). Reading back: members, reader, rows, export,
clusters, check.
"""
