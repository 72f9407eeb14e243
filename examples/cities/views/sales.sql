-- @description Sales that count, with exact amounts. Views that read it compute it inline.
SELECT id, date, city, CAST(amount AS DECIMAL(12, 2)) AS amount, size_of(amount) AS size
FROM events
WHERE amount >= :least_amount
