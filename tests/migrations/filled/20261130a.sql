INSERT INTO delivery (forge, guid, event, action, repository, number, sender, received_at, request_id, outcome, reason, review_id, payload)
VALUES ('github', 'guid-1', 'pull_request', 'opened', 'team/app', 7, 'maria', '2026-11-30 12:00:00', 'r-1', 'queued', '', 1, NULL);
INSERT INTO review (forge, repository, number, head_sha, "trigger", queue, state, estimated_tokens, received_at, queued_at, lease_token)
VALUES ('github', 'team/app', 7, 'aaaaaaaa', 'auto', 'high', 'running', 1200, '2026-11-30 12:00:00', '2026-11-30 12:00:00', 'token');
INSERT INTO review (forge, repository, number, head_sha, "trigger", queue, state, estimated_tokens, received_at, queued_at, finished_at)
VALUES ('github', 'team/app', 7, '', 'comment:5', 'low', 'done', 0, '2026-11-30 12:00:00', '2026-11-30 12:00:00', '2026-11-30 12:01:00');
INSERT INTO finding (review_id, ordinal, fingerprint, path, unplaced, code, severity, category, message)
VALUES (1, 0, 'f1', 'app.py', 'The quoted line occurs twice.', 'eval(text)', 'high', 'security', 'Input reaches eval.');
INSERT INTO llm_call (review_id, chunk, attempt, model, priority, started_at, total_ms, prompt_tokens, cached_tokens, completion_tokens, finish_reason, outcome, error, cache_hit)
VALUES (1, 0, 1, 'coder', 0, '2026-11-30 12:00:01', 900.5, 800, 500, 90, 'stop', 'ok', '', FALSE);
INSERT INTO latency (review_id, finished_at, forge, repository, number, head_sha, "trigger", queue, model, outcome, received_at, estimated_tokens, prompt_tokens, cached_tokens, completion_tokens, files, chunks, llm_calls, cache_hits, truncated, findings, posted, total_ms)
VALUES (2, '2026-11-30 12:01:00', 'github', 'team/app', 7, 'aaaaaaaa', 'auto', 'high', 'coder', 'done', '2026-11-30 12:00:00', 1200, 800, 500, 90, 3, 2, 2, 0, FALSE, 1, 1, 2800.0);
