
"use strict";
// Everything is laid out and written already: this only moves boxes, and shows and hides.
const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const svg = document.querySelector("svg"), canvas = at("canvas"), panel = at("panel");
const nodes = [...document.querySelectorAll(".node")], edges = [...document.querySelectorAll(".edge")];
const ends = edges.map((edge) => [Number(edge.dataset.a), Number(edge.dataset.b)]);
const number = new Map(data.names.map((name, i) => [name, i]));
const reads = nodes.map(() => []), readBy = nodes.map(() => []);
for (const [a, b] of ends) { reads[b].push(a); readBy[a].push(b); }
let isWhole = data.opensWhole, drawn = null, view = { x: 0, y: 0, scale: 1 };

// The graph ------------------------------------------------------------------------------------
function draw(picture) {
  if (picture === drawn) return;
  drawn = picture;
  for (const part of [...nodes, ...edges]) part.setAttribute("hidden", "");
  for (const [i, x, y] of picture.nodes) {
    nodes[i].setAttribute("transform", `translate(${x} ${y})`);
    nodes[i].removeAttribute("hidden");
  }
  for (const [i, path] of picture.edges) {
    edges[i].setAttribute("d", path);
    edges[i].removeAttribute("hidden");
  }
  fit();
}
function fit() {
  const [width, height] = drawn.size;
  const scale = Math.min(1, canvas.clientWidth / width, canvas.clientHeight / height);
  look(scale, (width - canvas.clientWidth / scale) / 2, (height - canvas.clientHeight / scale) / 2);
}
function look(scale, x, y) {
  view = { scale, x, y };
  svg.setAttribute("viewBox", `${x} ${y} ${canvas.clientWidth / scale} ${canvas.clientHeight / scale}`);
}
function reach(start, links) {
  const reached = new Set([start]);
  for (const i of reached) for (const next of links[i]) reached.add(next);
  return reached;
}
function light(i) {
  const lit = i === undefined ? null : new Set([...reach(i, reads), ...reach(i, readBy)]);
  nodes.forEach((node, n) => node.classList.toggle("faded", lit !== null && !lit.has(n)));
  edges.forEach((edge, e) => {
    const isLit = lit !== null && ends[e].every((n) => lit.has(n));
    edge.classList.toggle("lit", isLit);
    edge.classList.toggle("faded", lit !== null && !isLit);
  });
}

// What is chosen is in the address, so that going back works and a link can be shared -------------
function show() {
  const chosen = number.get(decodeURIComponent(location.hash.slice(1)));
  nodes.forEach((node, n) => node.classList.toggle("chosen", n === chosen));
  panel.replaceChildren(...(chosen === undefined ? [] : [at(`panel-${chosen}`).content.cloneNode(true)]));
  panel.scrollTop = 0;
  const middle = chosen ?? data.names.length - 1;
  draw(isWhole ? data.whole : data.near[middle]);
  at("whole").setAttribute("aria-pressed", isWhole);
  at("near").setAttribute("aria-pressed", !isWhole);
  const more = isWhole ? 0 : data.near[middle].more;
  at("more").hidden = !more;
  at("more").textContent = `${more} more neighbours: the panel lists them all`;
  document.title = chosen === undefined ? document.title : data.names[chosen];
}
addEventListener("hashchange", show);
addEventListener("resize", fit);
at("whole").onclick = () => { isWhole = true; show(); };
at("near").onclick = () => { isWhole = false; show(); };
nodes.forEach((node, i) => {
  node.setAttribute("tabindex", "0");
  node.onmouseenter = () => light(i);
  node.onmouseleave = () => light();
  node.onkeydown = (event) => { if (event.key === "Enter") location.hash = data.names[i]; };
  node.onclick = () => { if (!moved) location.hash = data.names[i]; };
});

// Dragging and zooming ---------------------------------------------------------------------------
let grip = null, moved = false;
canvas.onpointerdown = (event) => { grip = { ...view, left: event.clientX, top: event.clientY }; moved = false; };
addEventListener("pointermove", (event) => {
  if (!grip) return;
  const dx = event.clientX - grip.left, dy = event.clientY - grip.top;
  moved ||= Math.hypot(dx, dy) > 4;
  canvas.classList.toggle("dragged", moved);
  if (moved) look(grip.scale, grip.x - dx / grip.scale, grip.y - dy / grip.scale);
});
addEventListener("pointerup", () => { grip = null; canvas.classList.remove("dragged"); });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { left, top } = canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
  const scale = Math.min(2.5, Math.max(0.02, view.scale * Math.exp(-event.deltaY / 500)));
  look(scale, view.x + x / view.scale - x / scale, view.y + y / view.scale - y / scale);
}, { passive: false });

// Search -----------------------------------------------------------------------------------------
const search = at("search"), matches = at("matches");
search.oninput = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = data.names.filter((_, i) => words.every((word) => data.words[i].includes(word)));
  const byName = (name) => (words.some((word) => name.includes(word)) ? 0 : 1);
  const best = hits.sort((a, b) => byName(a) - byName(b) || a.length - b.length).slice(0, 12);
  matches.replaceChildren(...best.map((name, place) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `#${encodeURIComponent(name)}`;
    link.textContent = name;
    item.className = place ? "" : "first";
    item.append(link);
    return item;
  }));
  matches.hidden = !words.length || !best.length;
};
search.onkeydown = (event) => {
  if (event.key === "Enter" && !matches.hidden) matches.querySelector("a").click();
  if (event.key === "Escape") search.blur();
};
search.onblur = () => setTimeout(() => { matches.hidden = true; }, 150);
matches.onclick = () => { search.value = ""; matches.hidden = true; };
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
});
show();
