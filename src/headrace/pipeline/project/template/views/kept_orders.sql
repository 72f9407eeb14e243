-- @description Orders that were not returned.
SELECT id, customer, amount, day
FROM orders
WHERE NOT EXISTS (SELECT * FROM returns WHERE order_id = id)
