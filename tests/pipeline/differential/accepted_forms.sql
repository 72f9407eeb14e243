-- Forms that Spark's parser accepts, one a line, and that the check of the words has to accept, too.
SELECT date '2024-01-01' - interval 3 months
SELECT timestamp'2024-01-01 00:00:00' + INTERVAL '1' DAY
SELECT INTERVAL '1-2' YEAR TO MONTH
SELECT INTERVAL '1 02:03:04' DAY TO SECOND
SELECT INTERVAL 1 DAY 2 HOURS
SELECT INTERVAL '1 day 2 hours'
SELECT a FROM t WHERE a NOT BETWEEN 1 AND 2 AND b NOT IN (1,2) AND c NOT LIKE 'x%' AND NOT d
SELECT a FROM t WHERE NOT a BETWEEN 1 AND 2
SELECT a FROM t WHERE a IS NOT NULL OR b IS NULL OR c IS TRUE OR d IS NOT FALSE
SELECT CASE WHEN a = 1 THEN 'x' WHEN a = 2 THEN 'y' ELSE 'z' END AS k FROM t
SELECT CASE a WHEN 1 THEN 'x' END k FROM t
SELECT count(*) FILTER (WHERE a > 1) AS n, count(DISTINCT a), sum(ALL a) FROM t
SELECT * FROM a LEFT ANTI JOIN b ON a.x = b.x LEFT SEMI JOIN c USING (x)
SELECT * FROM a FULL OUTER JOIN b ON a.x = b.x RIGHT JOIN c ON c.y = a.y INNER JOIN d USING (x, y)
SELECT * FROM a NATURAL JOIN b
SELECT * FROM a, b WHERE a.x = b.x
SELECT id, v FROM t LATERAL VIEW explode(arr) e AS v
SELECT id, v FROM t LATERAL VIEW OUTER explode(arr) AS v
SELECT id, k, v FROM t LATERAL VIEW explode(m) e AS k, v WHERE k > 1
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(x, y)
SELECT * FROM (VALUES (1), (2)) t(x)
VALUES (1, 2), (3, 4)
SELECT a FROM t UNION ALL SELECT b FROM u UNION DISTINCT SELECT c FROM v EXCEPT SELECT d FROM w INTERSECT ALL SELECT e FROM x
SELECT a FROM t MINUS SELECT b FROM u
SELECT a, b FROM t ORDER BY 1 DESC NULLS LAST, b ASC NULLS FIRST LIMIT 10 OFFSET 5
SELECT * EXCEPT (a, b) FROM t
SELECT t.*, u.a AS `x y` FROM t JOIN u ON t.i <=> u.i
SELECT transform(arr, x -> x + 1), filter(arr, (x, i) -> x > i), aggregate(arr, 0, (acc, x) -> acc + x) FROM t
SELECT arr[0], m['k'], s.f.g, arr[i + 1] FROM t
SELECT a::int, b :: decimal(10,2), CAST(c AS ARRAY<INT>), TRY_CAST(d AS MAP<STRING, INT>) FROM t
SELECT extract(year FROM d), extract(DAY FROM d), date_part('year', d) FROM t
SELECT /*+ BROADCAST(t) */ a FROM t -- comment
SELECT a /* c */ FROM t WHERE b = "double"
SELECT trim(BOTH ' ' FROM s), trim(LEADING FROM s), trim(s), ltrim(s), substring(s FROM 2 FOR 3), substring(s, 1, 2), substr(s, 2) FROM t
SELECT overlay(s PLACING 'x' FROM 2), position('a' IN s), position('a', s) FROM t
SELECT struct(a AS b, c), named_struct('a', 1), array(1,2), map('a', 1) FROM t
SELECT 1L, 1S, 1Y, 1.5D, 1.5F, 1.5BD, 1e3, .5, 5., -1, +1, - -1, ~1, !true FROM t
SELECT X'1F', r'raw\\n', 'it''s', 'a' 'b', "a""b" FROM t
SELECT a, sum(b) FROM t GROUP BY ROLLUP (a), b
SELECT a, b, sum(c), grouping_id() FROM t GROUP BY a, b WITH ROLLUP
SELECT a, b, grouping(a) FROM t GROUP BY GROUPING SETS ((a, b), (a), ())
SELECT a, b FROM t GROUP BY CUBE (a, b) HAVING sum(c) > 1
SELECT a FROM t GROUP BY ALL ORDER BY ALL
SELECT a, sum(b) OVER w FROM t WINDOW w AS (PARTITION BY a ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)
SELECT sum(b) OVER (ORDER BY c RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM t
SELECT sum(b) OVER (ORDER BY c RANGE UNBOUNDED PRECEDING), lag(a, 1) IGNORE NULLS OVER (ORDER BY b), first_value(a) RESPECT NULLS OVER (ORDER BY b) FROM t
SELECT sum(b) OVER (ORDER BY c ROWS CURRENT ROW) FROM t
WITH a AS (SELECT 1 AS x), b (y) AS (SELECT x FROM a) SELECT * FROM b
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r
SELECT (SELECT max(a) FROM u WHERE u.i = t.i) AS m, EXISTS (SELECT 1 FROM u) FROM t WHERE a IN (SELECT b FROM u) AND NOT EXISTS (SELECT 1 FROM v WHERE v.i = t.i)
SELECT a FROM t TABLESAMPLE (10 PERCENT)
SELECT a FROM t VERSION AS OF 3
SELECT a FROM t TIMESTAMP AS OF '2024-01-01'
SELECT * FROM t PIVOT (sum(a) AS s FOR b IN ('x' AS x, 'y'))
SELECT * FROM t UNPIVOT (v FOR n IN (a, b AS c))
SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a, b))
SELECT a || b || 'c', a & b | c ^ d, a << 1, a % 2, a DIV 2, a == b, a != b, a <> b FROM t
SELECT listagg(a, ',') WITHIN GROUP (ORDER BY b), percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t
SELECT percentile(a, 0.5), approx_count_distinct(a), any_value(a), bool_and(a), some(b), every(c), any(d) FROM t
SELECT current_date, current_timestamp(), current_date() FROM t
SELECT date_trunc('month', d), d + 1, d - DATE'2024-01-01', datediff(DAY, d, e), dateadd(DAY, 1, d), timestampdiff(HOUR, a, b) FROM t
SELECT a FROM t DISTRIBUTE BY a SORT BY b
SELECT a FROM t CLUSTER BY a
SELECT DISTINCT a, b FROM t
SELECT ALL a FROM t
FROM t SELECT a
TABLE t
SELECT a AS left, b AS right, c AS date, d AS timestamp, e AS year, f AS filter, g AS values FROM t
SELECT date, timestamp, year, filter, `select`, index, first, last, day, rows, range, window, position FROM t
SELECT a FROM db.t AS x JOIN cat.db.u y ON x.i = y.i
SELECT a FROM t WHERE a = :p
SELECT explode(arr) AS (v) FROM t
SELECT posexplode(arr) AS (p, v) FROM t
SELECT inline(arr) FROM t
SELECT * FROM range(10), explode(array(1, 2)) AS e(x)
SELECT * FROM t, LATERAL (SELECT u.a FROM u WHERE u.i = t.i) AS l
SELECT a FROM t WHERE b LIKE ANY ('x', 'y') OR c LIKE ALL ('z')
SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b FROM t
SELECT try_add(a, b), a NOT RLIKE 'x' FROM t;
SELECT CAST(NULL AS INTERVAL DAY TO SECOND), CAST(a AS TIMESTAMP_NTZ), CAST(b AS STRUCT<x: INT, y: STRING>) FROM t
SELECT string_agg(DISTINCT a, ',') FROM t
SELECT a b, c AS d FROM t u
SELECT a FROM (SELECT a FROM t) sub
SELECT a FROM (SELECT a FROM t) AS sub (z)
(SELECT a FROM t) UNION ALL (SELECT b FROM u) ORDER BY 1
SELECT date('2024-01-01'), timestamp('2024-01-01'), int(a), string(b), double('1') FROM t
SELECT count(1), count(a, b), sum(DISTINCT a), avg(a) FILTER (WHERE b) OVER (PARTITION BY c) FROM t
SELECT mode() WITHIN GROUP (ORDER BY a) FROM t
SELECT unix_timestamp(), make_date(2024, 1, 1), to_timestamp('x', 'yyyy') FROM t
SELECT -a, -(a + b), - a.b, -1 * -2, a - -1, a-1 FROM t
SELECT a REGEXP 'x', a ILIKE 'y', a LIKE 'y!_%' ESCAPE '!' FROM t
SELECT rank() OVER (DISTRIBUTE BY b SORT BY c) FROM t
SELECT 2 UNION DISTINCT SELECT 1
SELECT a FROM t; -- the end
SELECT a  FROM t  GROUP    BY a  ORDER    BY a DESC  NULLS  LAST
