-- @description Revenue per city and day, from first_day on.
-- @materialise output
-- @partition_by day
-- @keys city, day
-- @contract ADDITIVE (city STRING, day DATE, orders BIGINT NOT NULL, revenue DECIMAL(22,2))
SELECT utf8_normalize(c.city) AS city, o.day AS day, count(*) AS orders, sum(o.amount) AS revenue
FROM kept_orders o
JOIN customers c ON o.customer = c.id
WHERE o.day >= :first_day
GROUP BY utf8_normalize(c.city), o.day
