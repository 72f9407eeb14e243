-- @description What each city sold in January.
-- @materialise output
-- @contract ADDITIVE (city STRING, revenue DECIMAL(22, 2), large BIGINT)
SELECT city, sum(amount) AS revenue, count_if(size = 'large') AS large
FROM sales
WHERE date < DATE '2026-02-01'
GROUP BY city
