INSERT INTO finding (review_id, ordinal, fingerprint, path, old_path, new_path, side, old_line, new_line, start_line, other_line, other_start_line, start_is_changed, unplaced, code, severity, category, message)
VALUES (1, 1, 'f2', 'app.py', 'app.py', 'app.py', 'new', NULL, 7, 5, 4, 4, TRUE, '', 'eval(text)', 'high', 'security', 'Input reaches eval.');
