-- @description How many orders of each size there are.
-- @materialise output
SELECT size_of_order(amount) AS size, count(*) AS orders
FROM kept_orders
GROUP BY size_of_order(amount)
