-- joins
SELECT a.k, a.s, b.s AS t FROM everyday a JOIN extreme b ON a.k = b.k
SELECT a.k, b.dec FROM everyday a LEFT JOIN extreme b ON a.i = b.k AND b.dec > 0
SELECT a.k, b.k AS bk FROM everyday a RIGHT JOIN extreme b ON a.i = b.k
SELECT a.k, b.k AS bk FROM everyday a FULL OUTER JOIN extreme b ON a.y = b.k
SELECT a.k FROM everyday a LEFT SEMI JOIN extreme b ON a.l = b.l
SELECT a.k FROM everyday a LEFT ANTI JOIN extreme b ON a.d = b.d
SELECT k, a.s AS x, b.s AS y FROM everyday a JOIN extreme b USING (k) WHERE a.b OR b.b
SELECT a.k, b.k AS c FROM everyday a CROSS JOIN extreme b WHERE a.k + b.k = 9
SELECT a.k, b.k AS c FROM everyday a JOIN everyday b ON a.b <=> b.b WHERE a.k < b.k
SELECT a.k, b.k AS c FROM extreme a JOIN extreme b ON a.d = b.d
SELECT a.k, b.k AS c FROM extreme a JOIN everyday b ON a.f = b.d
SELECT a.k, b.k AS c FROM extreme a JOIN everyday b ON a.dt < b.dt AND a.k = b.k
SELECT a.k, c.n FROM everyday a JOIN (SELECT b, count(*) AS n FROM everyday GROUP BY b) c ON a.b = c.b
SELECT k, n FROM everyday, LATERAL (SELECT count(*) AS n FROM extreme e WHERE e.k > everyday.k)
-- windows
SELECT k, sum(i) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a FROM everyday
SELECT k, sum(l) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS a FROM extreme
SELECT k, sum(l) OVER (PARTITION BY b ORDER BY k) AS a FROM extreme
SELECT k, avg(dec) OVER (PARTITION BY b ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a FROM everyday
SELECT k, sum(dec) OVER (ORDER BY i RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS a FROM everyday
SELECT k, max(ts) OVER (ORDER BY dt RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS a FROM everyday
SELECT k, count(*) OVER (ORDER BY y) AS a, rank() OVER (ORDER BY y) AS r, dense_rank() OVER (ORDER BY y DESC) AS e FROM everyday
SELECT k, row_number() OVER (PARTITION BY b ORDER BY d DESC NULLS LAST, k) AS a FROM extreme
SELECT k, lag(s, 2, 'none') OVER (ORDER BY k) AS a, lead(dt) OVER (ORDER BY k) AS b FROM extreme
SELECT k, first_value(s) OVER (PARTITION BY b ORDER BY k) AS a, last_value(w) OVER (PARTITION BY b ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS c FROM extreme
SELECT k, ntile(3) OVER (ORDER BY k) AS a, percent_rank() OVER (ORDER BY i) AS p, cume_dist() OVER (ORDER BY i) AS c FROM everyday
SELECT k, nth_value(s, 2) OVER (ORDER BY k) AS a FROM everyday
SELECT k, min(d) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a, max(f) OVER (ORDER BY k) AS b FROM extreme
SELECT k, sum(d) OVER (ORDER BY k) AS a, avg(d) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS b FROM everyday
SELECT * FROM (SELECT k, b, row_number() OVER (PARTITION BY b ORDER BY l DESC, k) AS n FROM everyday) WHERE n = 1
SELECT b, sum(i) AS t, sum(sum(i)) OVER (ORDER BY b) AS r FROM everyday GROUP BY b
SELECT k, CASE WHEN sum(l) OVER (ORDER BY k) > 0 THEN 'p' ELSE 'n' END AS a FROM everyday
SELECT k, CASE WHEN k > 100 THEN sum(l) OVER (PARTITION BY b) END AS a FROM extreme WHERE k IN (1, 7, 2)
SELECT k, count(DISTINCT b) AS a FROM everyday GROUP BY k HAVING count(*) > 0
SELECT k, sum(big) OVER (ORDER BY k) AS a FROM everyday
SELECT k, collect_list(i) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM everyday
-- pivots
SELECT * FROM (SELECT b, y, i FROM everyday) PIVOT (sum(i) FOR y IN (1, 2, 3))
SELECT * FROM (SELECT b, y, l FROM extreme) PIVOT (sum(l) AS s, count(l) AS c FOR y IN (127 AS x, 0 AS z))
SELECT * FROM (SELECT k, i, y FROM everyday) UNPIVOT (v FOR n IN (i, y))
SELECT * FROM (SELECT b, s, dec FROM everyday) PIVOT (max(dec) FOR s IN ('abc', '100'))
-- dates
SELECT k, date_trunc('month', ts) AS a, date_trunc('week', ts) AS b, date_trunc('hour', ts) AS c FROM extreme
SELECT k, dt + INTERVAL 1 MONTH AS a, add_months(dt, -1) AS b, last_day(dt) AS c, next_day(dt, 'MON') AS e FROM extreme
SELECT k, ts + INTERVAL 1 DAY AS a, ts + INTERVAL 24 HOURS AS b, ts - INTERVAL 1 YEAR AS c FROM everyday
SELECT k, datediff(dt, DATE '2000-01-01') AS a, months_between(ts, TIMESTAMP '2020-02-29 00:00:00') AS b FROM extreme
SELECT k, hour(ts) AS a, minute(ts) AS b, second(ts) AS c, dayofweek(ts) AS e, weekofyear(ts) AS f FROM extreme
SELECT k, extract(SECOND FROM ts) AS a, extract(YEAROFWEEK FROM dt) AS b, extract(DOY FROM ts) AS c FROM extreme
SELECT date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSS') AS a, to_date(ts) AS b, date_format(ts, 'EEEE d MMM') AS c FROM everyday
SELECT k, unix_timestamp(ts) AS a, from_unixtime(k * 86400) AS b, to_timestamp('2026-03-29 02:30:00') AS c FROM everyday
SELECT k, timestampdiff(HOUR, ts, TIMESTAMP '2026-03-29 12:00:00') AS a, timestampdiff(MONTH, ts, TIMESTAMP '2026-03-29 12:00:00') AS b FROM extreme
SELECT k, timestampdiff(WEEK, timestamp_micros(l), ts) AS a, timestampdiff(DAY, timestamp_micros(l), ts) AS b FROM extreme
SELECT k, minute(timestamp_micros(l)) AS a, hour(timestamp_micros(l)) AS b, CAST(timestamp_micros(l) AS DATE) AS c FROM extreme
SELECT k, CAST(timestamp_micros(l) AS STRING) AS a, date_format(timestamp_micros(l), 'yyyy-MM-dd HH') AS b FROM extreme
SELECT k, date_trunc('DAY', timestamp_micros(l)) AS a FROM extreme WHERE k <> 2
SELECT k, date_trunc('HOUR', timestamp_micros(l)) AS a FROM extreme
SELECT k, date_trunc('MINUTE', timestamp_micros(l)) AS a FROM extreme WHERE k = 1
SELECT k, date_trunc('SECOND', timestamp_micros(l)) AS a FROM extreme
SELECT k, date_trunc('MILLISECOND', timestamp_micros(l)) AS a FROM extreme
SELECT k, date_trunc('YEAR', timestamp_micros(l)) AS a FROM extreme
SELECT k, date_trunc('WEEK', timestamp_micros(l)) AS a FROM extreme WHERE k = 1
SELECT k, timestamp_micros(l) - INTERVAL 1 DAY AS a FROM extreme WHERE k = 1
SELECT k, timestamp_micros(l) + INTERVAL 1 DAY AS a FROM extreme WHERE k = 2
SELECT k, timestamp_micros(l) - INTERVAL 1 MONTH AS a FROM extreme WHERE k = 1
SELECT k, timestamp_micros(l) + INTERVAL 5 HOURS AS a FROM extreme WHERE k = 1
SELECT k, timestampdiff(HOUR, timestamp_micros(l), ts) AS a FROM extreme
SELECT k, timestampdiff(MICROSECOND, timestamp_micros(l), TIMESTAMP '1970-01-01 00:00:00') AS a FROM extreme WHERE k = 1
SELECT k, timestampdiff(MICROSECOND, timestamp_micros(l), TIMESTAMP '1970-01-01 00:00:00') AS a FROM extreme WHERE k = 2
SELECT k, timestampdiff(QUARTER, timestamp_micros(l), ts) AS a FROM extreme
SELECT k, CAST(timestamp_micros(l) AS TIMESTAMP_NTZ) AS a FROM extreme WHERE k = 1
SELECT k, CAST(timestamp_micros(l) AS TIMESTAMP_NTZ) AS a FROM extreme WHERE k = 2
SELECT k, from_utc_timestamp(timestamp_micros(l), 'Asia/Tokyo') AS a FROM extreme WHERE k = 1
SELECT k, to_utc_timestamp(timestamp_micros(l), 'America/Lima') AS a FROM extreme WHERE k = 1
SELECT k, from_utc_timestamp(ts, 'America/New_York') AS a, to_utc_timestamp(ts, 'Asia/Kolkata') AS b FROM extreme
SELECT k, weekofyear(timestamp_micros(l)) AS a, year(timestamp_micros(l)) AS b, dayofyear(timestamp_micros(l)) AS c FROM extreme
SELECT k, extract(SECOND FROM timestamp_micros(l)) AS a, date_part('MINUTE', timestamp_micros(l)) AS b FROM extreme
SELECT k, months_between(timestamp_micros(l), ts) AS a FROM extreme
SELECT k, unix_timestamp(timestamp_micros(l)) AS a, unix_seconds(timestamp_micros(l)) AS b FROM extreme
SELECT k, timestamp_seconds(i) AS a, timestamp_millis(k) AS b FROM extreme
SELECT k, (timestamp_micros(l) - TIMESTAMP '1970-01-01 00:00:00') > INTERVAL 1 DAY AS a FROM extreme WHERE k = 1
SELECT k, (timestamp_micros(l) - TIMESTAMP '1970-01-01 00:00:00') < INTERVAL 1 DAY AS a FROM extreme WHERE k = 2
SELECT k, to_date(s, 'yyyy-MM-dd') AS a FROM everyday WHERE s IS NULL
SELECT k, make_date(2024, k, 29) AS a FROM everyday WHERE k IN (1, 3, 5)
SELECT k, try_to_timestamp(w) AS a, try_to_date(w) AS b FROM everyday
SELECT dt, count(*) AS n FROM (SELECT CAST(ts AS DATE) AS dt FROM everyday) GROUP BY dt
SELECT k, sequence(dt, dt + INTERVAL 2 DAYS) AS a FROM everyday WHERE k < 4
SELECT k, ntz + INTERVAL '1 02:03:04' DAY TO SECOND AS a, CAST(ntz AS DATE) AS b FROM everyday
SELECT k, timestampadd(DAY, 1, ts) AS a, timestampadd(HOUR, 24, ts) AS b, timestampadd(MONTH, 1, ntz) AS c FROM everyday
SELECT k, CAST(ntz AS TIMESTAMP) AS a, CAST(ts AS TIMESTAMP_NTZ) AS b, CAST(dt AS TIMESTAMP) AS c FROM extreme
SELECT k, convert_timezone('Europe/Zurich', 'America/New_York', ntz) AS a FROM everyday
-- strings
SELECT k, length(s) AS a, upper(s) AS b, reverse(s) AS c, substring(s, 2, 2) AS e, initcap(s) AS f FROM extreme
SELECT k, instr(s, 'b') AS a, locate('c', s, 2) AS b, lpad(s, 6, '*') AS c, rpad(w, 3, '\U0001f600') AS e FROM extreme
SELECT k, s LIKE '%😀%' AS a, s LIKE '_ smile' AS b, s RLIKE '^.\\s' AS c FROM extreme
SELECT k, translate(s, 'abc', 'x😀') AS a, replace(s, 'a', '') AS b, split(s, ',') AS c FROM everyday
SELECT k, regexp_extract(s, '([a-z]+)(\\d*)', 1) AS a, regexp_replace(s, '[aeiou]', '#') AS b FROM everyday
SELECT k, concat_ws('-', s, w, NULL) AS a, s || w AS b, coalesce(s, w, '?') AS c FROM extreme
SELECT k, left(s, 2) AS a, right(s, 2) AS b, char_length(w) AS c, octet_length(w) AS e, bit_length(s) AS f FROM extreme
SELECT k, trim(s) AS a, ltrim(s) AS b, rtrim(s) AS c, btrim(s, ' x') AS e FROM everyday
SELECT k, levenshtein(s, w) AS a, soundex(s) AS b, ascii(s) AS c, chr(k + 64) AS e FROM extreme
SELECT s, w, s < w AS a, greatest(s, w) AS b FROM extreme ORDER BY s, w
SELECT k, split_part(s, ',', 2) AS a, substring_index(s, 'X', 1) AS b, overlay(s PLACING 'ZZ' FROM 2) AS c FROM everyday
SELECT k, s ILIKE 'A%' AS a, s NOT LIKE '%c' AS b, s LIKE 'a\\%%' AS c FROM extreme
SELECT k, contains(s, 'a') AS a, startswith(s, 'a') AS b, endswith(s, w) AS c FROM everyday
SELECT k, base64(bin) AS a, hex(bin) AS b, md5(bin) AS c, sha2(bin, 256) AS e, crc32(bin) AS f FROM extreme
SELECT k, repeat(w, 2) AS a, space(k) AS b, format_string('%s-%d', w, k) AS c FROM everyday
-- decimals
SELECT k, dec * dec AS a, dec / 3 AS b, dec % 0.3BD AS c, round(dec, 1) AS e, bround(dec, 1) AS f FROM extreme
SELECT k, big + 1 AS a FROM extreme WHERE k > 2
SELECT k, CAST(big AS DECIMAL(20, 2)) AS a FROM everyday
SELECT sum(dec) AS a, avg(dec) AS b, max(big) AS c, min(big) AS e FROM extreme
SELECT b, sum(big) AS a FROM everyday GROUP BY b
SELECT b, avg(big) AS a FROM everyday GROUP BY b
SELECT k, ceil(dec) AS a, floor(dec) AS b, ceil(d) AS c FROM everyday
SELECT k, CAST(d AS DECIMAL(10, 3)) AS a, CAST(dec AS INT) AS b, CAST(dec AS STRING) AS c FROM everyday
SELECT k, dec BETWEEN 0 AND 5 AS a, dec IN (1.25, 3) AS b, dec = 3 AS c FROM everyday
SELECT k, CAST(d AS DECIMAL(5, 1)) AS a, CAST(f AS DECIMAL(9, 3)) AS b FROM extreme WHERE k < 7
SELECT k, ceil(d) AS a, floor(d) AS b FROM extreme WHERE k IN (1, 4, 5, 6)
SELECT CAST(a AS INT) AS b FROM VALUES (CAST(0.999999999999999999 AS DECIMAL(37, 18))) AS v(a)
SELECT CAST(a AS INT) AS b, CAST(a AS TINYINT) AS c FROM VALUES (CAST(99.999999 AS DECIMAL(38, 6))) AS v(a)
SELECT CAST(a AS BIGINT) AS b FROM VALUES (CAST(0.999999999999999999 AS DECIMAL(37, 18))) AS v(a)
SELECT k, try_divide(dec, i) AS a, try_add(l, 1) AS b, try_subtract(i, 1) AS c, try_multiply(l, 2) AS e FROM extreme
SELECT k, try_cast(s AS INT) AS a, try_cast(w AS DECIMAL(5, 2)) AS b, try_cast(d AS BIGINT) AS c FROM extreme
SELECT sum(DISTINCT i) AS a, count(DISTINCT s, w) AS b, avg(DISTINCT y) AS c FROM everyday
-- lateral views
SELECT k, e FROM everyday LATERAL VIEW explode(ai) x AS e
SELECT k, e FROM everyday LATERAL VIEW OUTER explode(ai) x AS e
SELECT k, p, e FROM everyday LATERAL VIEW posexplode(st) x AS p, e
SELECT k, kk, v FROM everyday LATERAL VIEW explode(m) x AS kk, v
SELECT k, e, g FROM everyday LATERAL VIEW explode(ai) x AS e LATERAL VIEW explode(st) y AS g
SELECT e, count(*) AS n FROM everyday LATERAL VIEW explode(st) x AS e GROUP BY e HAVING count(*) > 1
SELECT k, explode(split(s, ',')) AS a FROM everyday
SELECT k, inline(arrays_zip(ai, st)) FROM everyday
SELECT k, stack(2, i, y, k, k) FROM everyday
-- grouping sets
SELECT b, y, count(*) AS n, sum(i) AS t FROM everyday GROUP BY GROUPING SETS ((b, y), (b), ())
SELECT b, y, grouping_id() AS g, sum(l) AS t FROM everyday GROUP BY CUBE (b, y)
SELECT b, y, grouping(b) AS g, max(s) AS t FROM extreme GROUP BY ROLLUP (b, y) ORDER BY g, b, y
SELECT year(dt) AS y, b, avg(i) AS t FROM everyday GROUP BY year(dt), b WITH ROLLUP
SELECT b, sum(l) AS a FROM extreme GROUP BY b HAVING count(*) > 2
SELECT b, sum(l) AS a, count(*) AS n FROM extreme WHERE k IN (1, 7) GROUP BY b HAVING count(*) > 2
SELECT k, CASE WHEN k > 100 THEN sum(l) END AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k
SELECT k, coalesce(k, sum(l)) AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k
SELECT k, if(k > 5, sum(l), 1) AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k
SELECT k, k > 5 AND sum(l) > 3 AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k
SELECT k, nvl(k, sum(l)) AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k
SELECT k, count(*) AS n FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k HAVING k > 5 AND sum(l) > 3
SELECT k, count(*) AS n FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k HAVING count(*) > 5 AND sum(l) > 3
SELECT k, count(*) AS n FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k ORDER BY CASE WHEN k > 5 THEN sum(l) END
SELECT k, sum(l) AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k HAVING k > 5
SELECT k, sum(l) AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k HAVING count(*) > 50
SELECT a FROM (SELECT k, sum(l) AS a, count(*) AS n FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k) WHERE n > 50
SELECT k FROM (SELECT k, sum(l) AS a, count(*) AS n FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k) WHERE n > 1
SELECT k, a FROM (SELECT k, sum(l) AS a, count(*) AS n FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k) WHERE k > 1
SELECT a FROM (SELECT k, 1 DIV min(i) AS a, count(*) AS n FROM extreme GROUP BY k) WHERE n > 50
SELECT k, 1 DIV min(i) AS a FROM extreme GROUP BY k HAVING min(i) <> 0
SELECT b, sum(i) / count(i) AS a FROM (SELECT b, CAST(NULL AS INT) AS i FROM everyday) GROUP BY b HAVING count(i) > 0
WITH g AS (SELECT k, sum(l) AS a, count(*) AS n FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k) SELECT a FROM g WHERE n > 50
SELECT a FROM (SELECT k, sum(l) AS a FROM (SELECT y * 0 AS k, l FROM extreme WHERE l > 0) GROUP BY k UNION ALL SELECT k, l FROM everyday) WHERE a > 50
SELECT CASE WHEN count(*) > 100 THEN sum(big) END AS a FROM extreme WHERE k IN (1, 8)
SELECT CASE WHEN count(*) > 100 THEN avg(dec) END AS a FROM extreme
SELECT CASE WHEN count(*) > 100 THEN corr(a, b) END AS c FROM VALUES (1E-100D, 1E-100D), (2E-100D, 2E-100D), (4E-100D, 3E-100D) AS v(a, b)
SELECT CASE WHEN count(*) > 100 THEN skewness(a) END AS c FROM VALUES (1E-200D, 1E-100D), (2E-200D, 2E-100D), (4E-200D, 3E-100D) AS v(a, b)
SELECT k, if(k > 100, sum(big) OVER (), 1) AS a FROM extreme WHERE k IN (1, 8)
SELECT b, sum(l) AS a FROM extreme WHERE k <> 2 GROUP BY b
SELECT k, sum(l) OVER (ORDER BY k) AS a FROM extreme WHERE k <> 2
-- rows that are dropped before something raises
SELECT k, l + i AS a FROM extreme WHERE k NOT IN (1, 2)
SELECT k, 10 DIV i + l AS a FROM extreme WHERE k > 3
SELECT k, 10 DIV i + l AS a FROM extreme WHERE k > 3 ORDER BY k LIMIT 2
SELECT k, 10 DIV i + l AS a FROM (SELECT * FROM extreme ORDER BY k DESC LIMIT 4)
SELECT k, a FROM (SELECT k, 10 DIV i + l AS a FROM extreme) WHERE k > 4
SELECT max(k) AS g, 10 DIV sum(i) + min(y) AS a FROM extreme GROUP BY k HAVING max(k) > 4
SELECT k, 10 DIV i + l AS a FROM extreme WHERE k > 4 UNION ALL SELECT k, i FROM everyday
SELECT k, CAST(s AS INT) + length(w) + k AS a, s FROM everyday WHERE s RLIKE '^[0-9]{1,4}$'
-- rows that are dropped after something raises
SELECT k, a FROM (SELECT k, 1 DIV i AS a, row_number() OVER (ORDER BY k) AS r FROM extreme) WHERE r = 1
SELECT k FROM (SELECT k, 1 DIV i AS a, row_number() OVER (ORDER BY k) AS r FROM extreme) WHERE r = 1
SELECT k, a FROM (SELECT k, 1 DIV i AS a, row_number() OVER (ORDER BY k) AS r FROM extreme) WHERE k = 1
SELECT k, a FROM (SELECT k, 1 DIV i AS a, row_number() OVER (PARTITION BY k ORDER BY b) AS r FROM extreme) WHERE k = 1 AND r = 1
SELECT k, a FROM (SELECT k, 1 DIV i AS a, row_number() OVER w AS r FROM extreme WINDOW w AS (PARTITION BY k ORDER BY b)) WHERE k = 1
SELECT b, m FROM (SELECT b, 1 DIV max(i) AS m, rank() OVER (ORDER BY b) AS r FROM extreme WHERE k IN (2, 3) GROUP BY b) WHERE r > 5
-- subqueries
SELECT k FROM everyday a WHERE EXISTS (SELECT 1 FROM extreme b WHERE b.k = a.i)
SELECT k FROM everyday a WHERE NOT EXISTS (SELECT 1 FROM extreme b WHERE b.k = a.i AND b.b)
SELECT k, (SELECT max(e.l) FROM extreme e WHERE e.k <= a.k) AS m FROM everyday a
SELECT k, (SELECT count(*) FROM extreme e WHERE e.b = a.b) AS m FROM everyday a
SELECT k FROM everyday WHERE i > (SELECT avg(i) FROM everyday)
SELECT k FROM everyday WHERE k IN (SELECT i FROM everyday) OR b
SELECT k FROM everyday WHERE (k, b) IN (SELECT k, b FROM extreme)
SELECT k FROM everyday WHERE i NOT IN (SELECT i FROM extreme WHERE i IS NOT NULL)
SELECT k FROM everyday WHERE i NOT IN (SELECT i FROM extreme)
SELECT k, i > ALL (SELECT k FROM extreme) AS a FROM everyday
-- set operations
SELECT b FROM everyday EXCEPT ALL SELECT b FROM extreme
SELECT b, y FROM everyday INTERSECT ALL SELECT b, y FROM everyday
SELECT d FROM extreme UNION SELECT f FROM everyday
SELECT s FROM everyday UNION ALL SELECT w FROM extreme ORDER BY s LIMIT 5
SELECT k FROM everyday MINUS SELECT k FROM extreme WHERE k > 3
SELECT i FROM everyday UNION SELECT l FROM everyday UNION ALL SELECT y FROM everyday
-- nested
SELECT k, transform(ai, x -> x + 1) AS a, filter(ai, x -> x > 0) AS b FROM everyday
SELECT k, aggregate(ai, 0, (x, y) -> x + coalesce(y, 0)) AS a, exists(st, x -> x IS NULL) AS b FROM everyday
SELECT k, map_filter(m, (a, b) -> b > 1) AS a, transform_values(m, (a, b) -> b + 1) AS b, map_keys(m) AS c FROM everyday
SELECT k, zip_with(ai, ai, (x, y) -> x * y) AS a, array_sort(ai) AS b, sort_array(st, false) AS c FROM everyday
SELECT k, named_struct('a', i, 'b', named_struct('c', s)).b.c AS a, struct(i, s).s AS b FROM everyday
SELECT k, array_distinct(ai) AS a, array_union(ai, array(1)) AS b, array_except(st, array('a')) AS c, array_intersect(ai, ai) AS e FROM everyday
SELECT k, element_at(ai, 1) AS a, ai[0] AS b, m['a'] AS c, size(ai) AS e, cardinality(m) AS f FROM everyday WHERE k IN (1, 6, 7)
SELECT k, flatten(array(ai, ai)) AS a, slice(ai, 1, 2) AS b, array_join(st, ',', '?') AS c, arrays_overlap(ai, array(3)) AS e FROM everyday
SELECT k, map_from_arrays(array('a', 'b'), array(i, k)) AS a, map_entries(m) AS b, str_to_map('a:1,b:2') AS c FROM everyday
SELECT k, to_json(named_struct('a', ai, 'm', m)) AS a, get_json_object('{"a":{"b":[1,2]}}', '$.a.b[1]') AS b FROM everyday
SELECT k, array_max(ai) AS a, array_min(st) AS b, array_contains(ai, 1) AS c, array_position(ai, 3) AS e FROM everyday
SELECT k, try_element_at(ai, 5) AS a, try_element_at(m, 'zz') AS b, get(ai, 9) AS c FROM everyday
SELECT k, transform(st, (x, i) -> concat(x, i)) AS a, forall(ai, x -> x > 0) AS b FROM everyday
SELECT b, sort_array(collect_set(i)) AS a, array_sort(collect_list(s)) AS c FROM everyday GROUP BY b
SELECT s.a, count(*) AS n FROM (SELECT named_struct('a', b, 'z', i) AS s FROM everyday) GROUP BY s.a
-- conditional
SELECT k, CASE b WHEN true THEN 'y' WHEN false THEN 'n' ELSE '?' END AS a, nullif(i, 3) AS c, nvl2(i, 'a', 'b') AS e, decode(y, 1, 'one', 2, 'two', 'other') AS f FROM everyday
SELECT k FROM everyday WHERE k = concat('x', 'y')
SELECT k = concat('x', 'y') AS a FROM everyday WHERE k > 100
SELECT k + concat('1', 'y') AS a FROM everyday WHERE k > 100
SELECT k FROM everyday WHERE k = concat('1', '')
SELECT dt > concat('2', 'x') AS a FROM everyday WHERE k > 100
SELECT k IN (1, concat('2', 'x')) AS a FROM everyday WHERE k > 100
SELECT k BETWEEN upper('x') AND 3 AS a FROM everyday WHERE k > 100
SELECT if(k > 0, true, k = concat('x', 'y')) AS a FROM everyday
SELECT date_add(concat('x', 'y'), k) AS a FROM everyday WHERE k > 100
SELECT k FROM everyday WHERE b AND k = lower('X')
SELECT sqrt(concat('x', 'y')) + k AS a FROM everyday WHERE k > 100
SELECT k, width_bucket(d, 0, 10, 5) AS a, hash(s, i) AS b, xxhash64(d, ts) AS c, greatest(i, y, k) AS e, least(d, f) AS g FROM everyday
SELECT b, max_by(s, k) AS a, min_by(s, k) AS c FROM everyday GROUP BY b
SELECT b, percentile(i, 0.5) AS a, median(d) AS c, mode(y, true) AS e FROM everyday GROUP BY b
SELECT b, count_if(i > 0) AS a, bool_and(i > 0) AS c, any(i > 5) AS e, stddev(i) AS f, variance(d) AS g FROM everyday GROUP BY b
SELECT b, string_agg(s, ',') WITHIN GROUP (ORDER BY s) AS a FROM everyday GROUP BY b
SELECT approx_count_distinct(s) AS a FROM everyday
SELECT k, i, i / y AS a FROM everyday WHERE y <> 0
SELECT k, i % y AS a, i DIV y AS b, pmod(i, 3) AS c, -i AS e, abs(i) AS f, sign(i) AS g FROM everyday WHERE y <> 0
SELECT k, round(d, 1) AS a, bround(d) AS b, sqrt(abs(d)) AS c, power(2, 3) AS e, exp(0) AS f FROM everyday
SELECT k, i & 5 AS a, i | 3 AS b, i ^ y AS c, ~i AS e, shiftleft(i, 2) AS f, bit_count(l) AS g FROM everyday
SELECT k, CAST(d AS STRING) AS a, CAST(f AS STRING) AS b, CAST(b AS STRING) AS c FROM extreme WHERE k NOT IN (7, 8)
SELECT k, isnan(d) AS a, nanvl(d, 1) AS b, d = d AS c, d > f AS e FROM extreme
SELECT d, count(*) AS n FROM extreme GROUP BY d ORDER BY d DESC
SELECT DISTINCT f FROM extreme ORDER BY f NULLS LAST
SELECT * FROM VALUES (1, 'a'), (2, NULL) AS t(x, y) WHERE y IS NOT NULL
SELECT id, id * 2 AS a FROM range(5)
-- booleans that are not evaluated
SELECT k, i > 0 AND 1 DIV i > 0 AS a FROM extreme
SELECT k, i = 0 OR 1 DIV i > 0 AS a FROM extreme
SELECT k FROM extreme WHERE i > 0 AND 1 DIV i >= 0
SELECT k FROM extreme WHERE i = 0 OR 1 DIV i > 0
SELECT k FROM extreme WHERE NOT (i = 0 OR 1 DIV i > 0)
SELECT k, CASE WHEN i <> 0 THEN 1 DIV i > 0 END AS a FROM extreme
SELECT k, CASE WHEN i <> 0 THEN 1 DIV i > 0 ELSE k > 3 END AS a FROM extreme
SELECT k, CASE WHEN i = 0 THEN true WHEN 1 DIV i > 0 THEN false ELSE k + 1 DIV i < 0 END AS a FROM extreme
SELECT k, CASE i WHEN 0 THEN true ELSE 1 DIV i > 0 END AS a FROM extreme
SELECT k, if(i = 0, false, 1 DIV i > 0) AS a, coalesce(i = 0 OR NULL, 2 DIV i > 0) AS c FROM extreme
SELECT k, nvl2(nullif(i, 0), 1 DIV i > 0, true) AS a, decode(i, 0, true, 2 DIV i > 0) AS c FROM extreme
SELECT k FROM extreme WHERE CASE WHEN i <> 0 THEN 1 DIV i > 0 ELSE b END
SELECT b, bool_or(1 DIV i > 0) FILTER (WHERE i <> 0) AS a FROM extreme GROUP BY b
SELECT a.k FROM extreme a JOIN everyday b ON a.k = b.k AND a.i <> 0 AND 1 DIV a.i > 0
SELECT k, filter(ai, x -> x <> 0 AND 1 DIV x > 0) AS a FROM everyday
SELECT k, CASE WHEN 1 DIV i = 1 THEN 5 ELSE 5 END AS a FROM extreme
-- conditions over inner queries that drop rows
WITH t AS (SELECT * FROM extreme WHERE i <> 0) SELECT k FROM t WHERE 1 DIV i > 0
WITH t AS (SELECT k, 1 DIV i AS z FROM extreme WHERE i <> 0) SELECT k, z FROM t WHERE z > 0
WITH t AS (SELECT *, 1 DIV i AS z FROM extreme) SELECT k, z FROM t WHERE i <> 0 AND z > 0
SELECT k FROM (SELECT DISTINCT k, i FROM extreme WHERE i <> 0) WHERE 1 DIV i > 0
SELECT k FROM (SELECT k, i FROM (SELECT * FROM extreme WHERE i <> 0) AS q) WHERE 1 DIV i > 0
SELECT k FROM (SELECT a.k, a.i FROM extreme a JOIN everyday b ON a.k = b.k WHERE a.i <> 0) WHERE 1 DIV i > 0
SELECT a.k FROM (SELECT * FROM extreme WHERE i <> 0) a JOIN everyday b ON a.k = b.k WHERE 1 DIV a.i > 0
SELECT a.k FROM (SELECT * FROM extreme WHERE i <> 0) a JOIN everyday b ON a.k = b.k AND 1 DIV a.i > 0
-- what Spark computes before a condition because it occurs twice
SELECT k FROM extreme WHERE i <> 0 AND 1 DIV i > 0 AND 1 DIV i < 5
SELECT k, i <> 0 AND 1 DIV i > 0 AS a, i <> 0 AND 1 DIV i < 5 AS c FROM extreme
SELECT k, (i <> 0 AND 1 DIV i > 0) AS a, (i <> 0 AND 1 DIV i > 0) AS c FROM extreme
SELECT k, (i <> 0 AND 1 DIV i > 0) AS a, NOT (i <> 0 AND 1 DIV i > 0) AS c FROM extreme
SELECT k, CASE WHEN i <> 0 AND 1 DIV i > 0 THEN 'a' WHEN i <> 0 AND 1 DIV i < 0 THEN 'b' END AS c FROM extreme
SELECT a.k FROM extreme a JOIN everyday b ON a.k = b.k AND a.i <> 0 AND 1 DIV a.i > 0 AND 1 DIV a.i < 5
SELECT i <> 0 AND 1 DIV i > 0 AS a, i <> 0 AND 1 DIV i < 5 AS c, count(*) AS n FROM extreme GROUP BY 1, 2
SELECT b, avg(1 DIV i) FILTER (WHERE i <> 0) AS m FROM extreme GROUP BY b
SELECT b, sum(1 DIV i) FILTER (WHERE i <> 0) AS m FROM extreme GROUP BY b
SELECT b, sum(1 DIV i) FILTER (WHERE i <> 0) AS m, max(1 DIV i) FILTER (WHERE i <> 0) AS n FROM extreme GROUP BY b
SELECT count_if(i <> 0 AND 1 DIV i > 0) AS c, count_if(i <> 0 AND 1 DIV i < 5) AS e FROM extreme
-- what Spark knows to be never null
SELECT k, array(1 DIV i) IS NULL AS a, struct(2 DIV i) IS NOT NULL AS c, hash(3 DIV i) IS NULL AS e FROM extreme
SELECT k, (1 DIV i <=> 2) IS NULL AS a, coalesce(2 DIV i, 0) IS NULL AS c, (3 DIV i IS NULL) IS NULL AS e FROM extreme
SELECT k, isnull(array(1 DIV i)) AS a, isnotnull(map(1, 2 DIV i)) AS c, nvl2(array(3 DIV i), 1, 2) AS e FROM extreme
SELECT k, if(array(1 DIV i) IS NULL, 1, 2) AS a, (2 DIV i) <=> (2 DIV i) AS c FROM extreme
SELECT count(array(1 DIV i)) AS a, count(struct(2 DIV i)) AS c, count(hash(3 DIV i)) AS e FROM extreme
SELECT count(if(1 DIV i > 0, 1, 2)) AS a, count(coalesce(2 DIV i, 0)) AS c, count(isnull(3 DIV i)) AS e FROM extreme
SELECT k, count(array(1 DIV i)) OVER (ORDER BY k) AS a FROM extreme
SELECT count(1 DIV i) AS a FROM extreme
SELECT k, (1 DIV i) IS NULL AS a FROM extreme
SELECT b, (count(*) > 0 AND bitmap_construct_agg(l) IS NULL) AS a FROM extreme GROUP BY b
SELECT b FROM extreme GROUP BY b HAVING bitmap_construct_agg(l) IS NOT NULL
-- joins by keys that are computed
SELECT a.k, b.k AS c FROM everyday a JOIN everyday b ON a.k = b.k + 1
SELECT a.k, b.k AS c FROM everyday a JOIN (SELECT k - 5 AS z, k FROM everyday) b ON a.k = b.z
SELECT a.k, b.k AS c FROM everyday a, everyday b WHERE a.k = b.k - 3 AND a.i <> 0 AND 10 DIV a.i > b.k
SELECT a.k FROM extreme a JOIN everyday b ON a.k = b.k + 100 AND 1 DIV a.i + b.k = 1
SELECT a.k FROM extreme a LEFT JOIN everyday b ON a.k = b.k + 100 AND 1 DIV a.i = 1
SELECT a.k FROM extreme a CROSS JOIN everyday b WHERE b.k > 100 AND 1 DIV a.i > b.k
SELECT a.k, b.k AS c FROM everyday a JOIN everyday b ON a.k < b.k - 5
SELECT k FROM (SELECT k, i FROM extreme WHERE i <> 0 UNION ALL SELECT k, y + 9 AS i FROM everyday) WHERE 10 DIV i > 0
SELECT k, u FROM (SELECT k, ai, i FROM extreme WHERE i <> 0) LATERAL VIEW explode(ai) t AS u WHERE 10 DIV i >= 0
SELECT p.k FROM everyday p JOIN extreme q ON p.k = q.k WHERE p.k > 2 AND CASE WHEN p.i > 0 THEN p.l / p.i END > 1 AND CASE WHEN p.i > 0 THEN p.l / p.i END < 9
SELECT count(*) FILTER (WHERE b) AS a, count(*) FILTER (WHERE NOT b) AS c, count(DISTINCT i) FILTER (WHERE k > 1) AS e, count(DISTINCT i) FILTER (WHERE k > 2) AS f FROM everyday
SELECT k, acos(10) - acos(2) AS a, sqrt(-1) + 1 AS c FROM extreme
-- conditions over keys of inner queries that group or number rows
SELECT i FROM (SELECT i, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY i) WHERE 1 DIV i > 0
SELECT i FROM (SELECT i, max(k) AS n FROM extreme WHERE i <> 0 GROUP BY i HAVING max(k) > 1) WHERE 1 DIV i > 0
SELECT i, n FROM (SELECT i, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY i) WHERE n > 0 AND 1 DIV i > 0
SELECT i FROM (SELECT 1 DIV i AS i, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY 1 DIV i) WHERE 1 DIV i > 0
SELECT i FROM (SELECT i, b, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY ROLLUP (i, b)) WHERE 1 DIV i > 0
SELECT i FROM (SELECT i, sum(k) OVER (PARTITION BY i) AS n FROM extreme WHERE i <> 0) WHERE 1 DIV i > 0
SELECT i FROM (SELECT i, row_number() OVER (PARTITION BY i ORDER BY k) AS n FROM extreme WHERE i <> 0) WHERE n = 1 AND 1 DIV i > 0
SELECT i FROM (SELECT i, count(*) AS n FROM extreme WHERE i <> 0 AND k > 1 GROUP BY i) WHERE 1 DIV i > 0 AND n < 10
SELECT i FROM (SELECT DISTINCT i, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY i) WHERE 1 DIV i > 0
SELECT i, a FROM (SELECT b, i, sum(l) AS a FROM everyday WHERE i <> 0 GROUP BY b, i) WHERE a / i > 1
SELECT i FROM (SELECT i, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY i) GROUP BY i HAVING 1 DIV i > 0
SELECT i FROM extreme WHERE i <> 0 GROUP BY i HAVING 1 DIV i > 0
SELECT i FROM extreme WHERE i <> 0 GROUP BY i HAVING 1 DIV i > 0 AND count(*) > 0
SELECT i FROM (SELECT i FROM (SELECT i, count(*) AS n FROM (SELECT * FROM extreme WHERE i <> 0) GROUP BY i)) WHERE 1 DIV i > 0
SELECT g.i FROM (SELECT i, n FROM (SELECT i, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY i) WHERE n > 0) g WHERE 1 DIV g.i > 0
SELECT i FROM (SELECT i, k FROM extreme WHERE i <> 0 QUALIFY row_number() OVER (PARTITION BY i ORDER BY k) = 1) WHERE 1 DIV i > 0
SELECT i, c FROM (SELECT i, 1 DIV i > 0 AS c, count(*) AS n FROM extreme WHERE i <> 0 GROUP BY i) WHERE c
SELECT i, c FROM (SELECT i, 1 DIV i AS c, count(*) AS n FROM extreme GROUP BY i) WHERE i <> 0 AND c > 0
SELECT i FROM (SELECT i FROM extreme WHERE i <> 0 LIMIT 5) WHERE 1 DIV i > 0
SELECT k, b AND z > 0 AS c FROM (SELECT k, b, 1 DIV i AS z FROM extreme)
-- what Spark computes less or more often than DataFusion
SELECT k FROM extreme WHERE 1 DIV i > 0 AND NULL
SELECT k FROM extreme WHERE NULL AND 1 DIV i > 0
SELECT k FROM extreme WHERE 1 DIV i > 0 AND CAST(NULL AS BOOLEAN)
SELECT k FROM extreme WHERE 1 DIV i > 0 AND FALSE
SELECT k FROM extreme WHERE 1 DIV i > 0 AND 1 = 2
SELECT k FROM extreme WHERE k > 0 AND 1 DIV i > 0 AND NULL AND b
SELECT k FROM extreme WHERE 1 DIV i > 0 OR NULL
SELECT k FROM extreme WHERE k > 0 AND NULL
SELECT k FROM extreme WHERE 1 DIV i > 0 AND b = NULL
SELECT k FROM extreme WHERE 1 DIV i > NULL
SELECT k, 1 DIV i > 0 AND NULL AS c FROM extreme
SELECT k FROM extreme ORDER BY 1 DIV i
SELECT count(*) AS n FROM (SELECT k FROM extreme ORDER BY 1 DIV i)
SELECT k FROM (SELECT k FROM extreme ORDER BY 1 DIV i) WHERE k > 3
SELECT k FROM (SELECT k FROM extreme ORDER BY 1 DIV i LIMIT 3)
SELECT max(k) AS n FROM (SELECT k FROM extreme ORDER BY 1 DIV i)
SELECT k FROM (SELECT k, 1 DIV i AS z FROM extreme ORDER BY z)
SELECT k FROM everyday WHERE k IN (SELECT k FROM extreme ORDER BY 1 DIV i)
SELECT k FROM (SELECT k FROM extreme ORDER BY 1 DIV i) ORDER BY k
SELECT k FROM everyday WHERE k > (SELECT max(1 DIV i) FROM extreme) AND false
SELECT k FROM everyday WHERE false AND k > (SELECT max(1 DIV i) FROM extreme)
SELECT k FROM everyday WHERE k > (SELECT 1 DIV i FROM extreme) AND false
SELECT (SELECT k FROM extreme) AS a FROM everyday WHERE false
SELECT (SELECT max(1 DIV i) FROM extreme) AS a FROM everyday WHERE false
SELECT (SELECT max(1 DIV i) FROM extreme) AS a FROM everyday WHERE k > 100
SELECT (SELECT k FROM extreme) AS a FROM everyday WHERE k > 100
SELECT k FROM everyday WHERE k > 100 AND k > (SELECT k FROM extreme)
SELECT CASE WHEN k > 100 THEN (SELECT k FROM extreme) END AS a FROM everyday
