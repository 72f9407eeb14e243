-- @description How the cities did from January to February, by head.
-- @materialise output
-- @partition_by canton
SELECT c.canton, j.city, j.revenue AS before, f.revenue AS after,
       CAST(f.revenue / c.population AS DECIMAL(18, 6)) AS by_head
FROM january AS j
JOIN february AS f ON f.city = j.city
JOIN cantons AS c ON c.city = j.city
