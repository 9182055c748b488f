// The preferred cells of searches and their Λ over the epochs.

/** Draw the cell of one epoch: a graph with vertices in a column, or bars. */
const drawCell = (drawn, frame) => (drawn.form === "bars" ? drawBars(drawn, frame) : drawGraph(drawn, frame));

const picture = (left, right, bottom, top) =>
  create("svg:svg", { class: "cell", viewBox: `${left} ${-top} ${right - left} ${top - bottom}`, role: "img" });

/** Return the nodes on a path of chosen edges from the first to the last. */
const liveNodes = (edges, chosen, nodes) => {
  const reach = (start, from, to) => {
    const found = new Set([start]);
    for (let round = 0; round < nodes; round += 1)
      edges.forEach((edge, place) => { if (chosen[place] === "1" && found.has(edge[from])) found.add(edge[to]); });
    return found;
  };
  const [down, up] = [reach(0, 0, 1), reach(nodes - 1, 1, 0)];
  return new Set([0, nodes - 1, ...[...down].filter((node) => up.has(node))]);
};

const drawGraph = (drawn, frame) => {
  const { distance, half, edges } = drawn;
  const tall = 0.22;
  const svg = picture(...drawn.limits);
  const live = liveNodes(edges, frame.chosen, frame.nodes.length);
  const labels = [];
  const order = edges.map((_, place) => place).filter((place) => frame.present[place] === "1");
  order.sort((one, other) => frame.chosen[one] - frame.chosen[other]);
  for (const place of order) {
    const [source, target, side, bulge] = edges[place];
    const idle = frame.chosen[place] === "1" && live.has(source) && live.has(target) ? "" : " idle";
    const weight = frame.weights[place];
    const width = 0.022 + (weight === null ? 0 : 0.075 * Math.min(weight, 1000) / 1000);
    const [top, bottom] = [source * distance + (side ? 0 : tall), target * distance - (side ? 0 : tall)];
    const x = side * half;
    const bend = side * (half + 2 * bulge);
    // The line ends at the base of its arrow head.
    const slope = side ? Math.atan2(bottom - (top + bottom) / 2, x - bend) : Math.PI / 2;
    const size = 0.13 + width;
    const [endX, endY] = [x - Math.cos(slope) * size, bottom - Math.sin(slope) * size];
    const d = side ? `M${x} ${top}Q${bend} ${(top + bottom) / 2} ${endX} ${endY}` : `M0 ${top}V${endY}`;
    const line = create("svg:path", { class: `edge${idle}`, d, "stroke-width": width });
    if (weight === null) line.setAttribute("stroke-dasharray", "0.04 0.08");
    const wing = (turn) =>
      `${x - Math.cos(slope + turn) * size * 1.15} ${bottom - Math.sin(slope + turn) * size * 1.15}`;
    svg.append(line, create("svg:path", { class: `head${idle}`, d: `M${x} ${bottom}L${wing(0.42)}L${wing(-0.42)}Z` }));
    const text = frame.labels?.[place];
    const decided = frame.framed?.[place] === "1" ? " decided" : "";
    if (text) labels.push([side * (half + bulge), (top + bottom) / 2, text, idle, decided]);
  }
  frame.nodes.forEach((text, node) => {
    const [idle, decided] = [live.has(node) ? "" : " idle", frame.decided?.[node] === "1" ? " decided" : ""];
    const y = node * distance;
    const shape = { x: -half, y: y - tall, width: 2 * half, height: 2 * tall, rx: 0.1 };
    const box = create("svg:rect", { class: `node${idle}${decided}`, ...shape });
    const isEnd = node === 0 || node === frame.nodes.length - 1;
    const operation = frame.operations[node];
    const fill = operation === null ? "#ffffff" : data.operations[operation % data.operations.length];
    if (!idle) box.setAttribute("fill", isEnd ? data.ends : fill);
    svg.append(box, create("svg:text", { class: `on-node${idle}`, x: 0, y, "font-size": drawn.text }, text));
  });
  for (const [x, y, text, idle, decided] of labels) {
    const lines = text.split("\n");
    const [wide, high] = [Math.max(...lines.map((of) => of.length)) * 0.135 + 0.1, lines.length * 0.27];
    const shape = { x: x - wide / 2, y: y - high / 2, width: wide, height: high };
    svg.append(create("svg:rect", { class: `behind${decided}`, ...shape }));
    lines.forEach((of, place) => {
      const lineY = y + (place - (lines.length - 1) / 2) * 0.26;
      svg.append(create("svg:text", { class: `label${idle}`, x, y: lineY, "font-size": 0.225 }, of));
    });
  }
  return svg;
};

/** Return diagonal lines that fill a rectangle. */
const hatching = (left, right, top, bottom) => {
  let d = "";
  for (let at = left - (bottom - top) + 0.06; at < right; at += 0.12) {
    const [start, end] = [Math.max(at, left), Math.min(at + bottom - top, right)];
    d += `M${start} ${bottom - (start - at)}L${end} ${bottom - (end - at)}`;
  }
  return create("svg:path", { class: "hatch", d });
};

const drawBars = (drawn, frame) => {
  const [length, distance, tall] = [3.4, 0.64, 0.22];
  const unit = length / Math.max(...drawn.candidates);
  const svg = picture(-2.4, length + 1.6, -(drawn.names.length - 1) * distance - 0.35, 0.35);
  drawn.names.forEach((name, row) => {
    const y = row * distance;
    const bar = (from, to, more) =>
      create("svg:rect", { x: from * unit, y: y - tall, width: (to - from) * unit, height: 2 * tall, ...more });
    const fill = data.operations[drawn.kinds[row] % data.operations.length];
    svg.append(bar(0, Math.max(...drawn.candidates), { class: "track" }));
    const weights = frame.weights?.[row];
    if (weights) {
      const largest = Math.max(...weights.map((of) => of ?? 0), 1);
      drawn.candidates.forEach((size, place) => {
        const start = place ? drawn.candidates[place - 1] : 0;
        if (weights[place] === null) svg.append(hatching(start * unit, size * unit, y - tall, y + tall));
        else svg.append(bar(start, size, { fill, "fill-opacity": weights[place] / largest }));
      });
    } else svg.append(bar(0, frame.values[row], { fill }));
    svg.append(bar(0, frame.values[row], { class: "outline" }));
    const weight = weights ? ` (${(weights[drawn.candidates.indexOf(frame.values[row])] / 1000).toFixed(2)})` : "";
    svg.append(create("svg:text", { class: "end", x: -0.15, y, "font-size": 0.26 }, name));
    const size = `${frame.values[row]}${weight}`;
    svg.append(create("svg:text", { class: "start", x: length + 0.15, y, "font-size": 0.26 }, size));
  });
  return svg;
};

/** The preferred cell of a search and the weights of its decisions, epoch by epoch. */
class Searches {
  constructor(root, searches) {
    this.searches = searches;
    root.append(cloned("search-template"));
    this.of = (name) => part(root, name);
    searches.forEach((search, place) => this.of("search").append(create("option", { value: place }, search.label)));
    const wanted = searches.findIndex((search) => search.label === kept.search);
    this.of("search").value = Math.max(0, wanted);
    this.of("search").addEventListener("change", () => {
      keep("search", this.search.label);
      keep("epoch", null);
      this.show();
    });
    this.of("search").parentElement.hidden = searches.length === 1;
    this.of("epoch").addEventListener("input", () => this.goTo(Number(this.of("epoch").value)));
    const move = { previous: -1, next: 1 };
    for (const [name, step] of Object.entries(move)) {
      this.of(name).addEventListener("click", () => this.goTo(this.place + step));
      this.of(`${name}-change`).addEventListener("click", () => this.goTo(this.change(step)));
    }
    this.show(kept.epoch);
  }

  get search() { return this.searches[Number(this.of("search").value)]; }

  /** Show a search, at an epoch if it has it, or else at its last. */
  show(epoch = null) {
    const { search } = this;
    const last = search.epochs.length - 1;
    this.of("epoch").max = last;
    this.of("meaning").textContent = search.meaning;
    this.of("reading").textContent = search.choices.length ? `Λ over the epochs: ${search.reading}` : "";
    this.of("notes").replaceChildren(...search.notes.map((note) => create("p", { class: "note" }, note)));
    const choose = (place) => this.goTo(place);
    const weight = (value) => (value === null ? "excluded" : (value / 1000).toFixed(3));
    const look = { lines: data.candidates, top: 1000, unit: 1000, text: weight };
    const choices = search.choices.map((choice) => new EpochPanel({ ...choice, ...look }, search.epochs, choose));
    const regrets = new EpochPanel(this.regrets(search), search.epochs, choose);
    this.panels = [regrets, ...choices];
    this.of("choices").replaceChildren(...choices.map((panel) => panel.element));
    this.of("regrets").replaceChildren(regrets.element);
    const known = epoch === null ? -1 : search.epochs.indexOf(epoch);
    this.goTo(known < 0 ? last : known, false);
  }

  /** Return the next place in a direction at which the cell differs from the one before it. */
  change(step) {
    const { of } = this.search;
    for (let place = this.place + step; place > 0 && place < of.length; place += step)
      if (of[place] !== of[place - 1]) return place;
    return step < 0 ? 0 : of.length - 1;
  }

  goTo(wanted, isChosen = true) {
    const { search } = this;
    const last = search.epochs.length - 1;
    this.place = Math.min(last, Math.max(0, wanted));
    const { place } = this;
    const epoch = search.epochs[place];
    if (isChosen) keep("epoch", place === last ? null : epoch); // a page that is renewed stays at the last epoch
    this.of("epoch").value = place;
    this.of("epoch").setAttribute("aria-valuetext", `epoch ${epoch}`);
    this.of("position").textContent = `epoch ${epoch} of ${search.epochs[last]}`;
    for (const name of ["previous", "previous-change"]) this.of(name).disabled = place === 0;
    for (const name of ["next", "next-change"]) this.of(name).disabled = place === last;
    const text = search.texts[search.of[place]];
    this.of("text").textContent = text;
    const cell = this.of("cell");
    if (search.drawn) {
      const svg = drawCell(search.drawn, search.drawn.frames[place]);
      svg.setAttribute("aria-label", `Preferred cell after epoch ${epoch}: ${text}`);
      cell.replaceChildren(svg);
    } else cell.textContent = "Architectures of this space cannot be drawn.";
    for (const panel of this.panels) panel.goTo(place);
  }

  /** Return the panel of the regrets of a search over the epochs. */
  regrets(search) {
    const values = search.regrets.map((regret, place) => [regret, search.validation[place]]);
    const top = 1.05 * Math.max(...values.flat().map((value) => value ?? 0)) || 1;
    const text = (value, place, number) => {
      if (value === null) return "not in the table";
      const flags = number ? search.validationMeasured : search.measured;
      const source = flags[place] === "1" ? ", measured" : ", predicted";
      return `${valueText(value, 3)} %${source}`;
    };
    const entries = ["test regret", "validation regret"];
    return { name: "Regret [%]", entries, values, lines: search.lines, top, unit: 1, text };
  }
}

/** Numbers over the epochs, such as the weights of the candidates of a decision, and their values at one epoch. */
class EpochPanel {
  /**
   * shown: name; entries and lines, one for each number; values by epoch; top and unit of the vertical axis; text,
   * which writes a value.
   */
  constructor(shown, epochs, choose) {
    [this.shown, this.epochs] = [shown, epochs];
    const [width, height, left, bottom] = [300, 130, 28, 110];
    const last = epochs[epochs.length - 1] || 1;
    this.x = (epoch) => left + (width - left - 8) * (epoch / last);
    const y = (value) => bottom - (bottom - 8) * (value / shown.top);
    const svg = create("svg:svg", { class: "panel", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    for (const value of ticks(0, shown.top / shown.unit, 3, false)) {
      const height = y(value * shown.unit);
      svg.append(create("svg:path", { class: "grid", d: `M${left} ${height}H${width - 8}` }));
      svg.append(create("svg:text", { x: left - 5, y: height + 4, "text-anchor": "end" }, tickText(value)));
    }
    for (const value of ticks(0, last, 5, false, 1))
      svg.append(create("svg:text", { x: this.x(value), y: height - 5, "text-anchor": "middle" }, tickText(value)));
    const body = create("tbody");
    this.rows = shown.entries.map((entry, number) => {
      const line = shown.lines[number % shown.lines.length];
      const point = (value, place) => `${this.x(epochs[place]).toFixed(1)} ${y(value).toFixed(1)}`;
      const points = shown.values.map((of, place) => (of[number] === null ? "" : point(of[number], place)));
      const d = points.map((of, place) => of && `${place && points[place - 1] ? "L" : "M"}${of}`).join("");
      const path = coloured(create("svg:path", { class: "curve", d }), line);
      if (line.dash) path.setAttribute("stroke-dasharray", line.dash);
      svg.append(path);
      const value = create("td", { class: "number" });
      const row = create("tr", {}, create("th", { scope: "row" }, create("span", {}, swatch(line), entry)), value);
      body.append(row);
      return { row, value };
    });
    this.cursor = create("svg:path", { class: "cursor" });
    svg.append(this.cursor);
    const point = (event) => {
      const frame = svg.getBoundingClientRect();
      const epoch = ((event.clientX - frame.left) * width / frame.width - left) / (width - left - 8) * last;
      choose(Math.max(0, lastPlace(epochs, epoch + 0.5 * (epochs[1] ?? 0))));
    };
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
    this.element = create("div", { class: "choice" }, create("h4", {}, shown.name), svg, create("table", {}, body));
  }

  goTo(place) {
    const x = this.x(this.epochs[place]);
    this.cursor.setAttribute("d", `M${x} 8V110`);
    const values = this.shown.values[place];
    const descending = values.filter((of) => of !== null).sort((one, other) => other - one);
    const least = descending[Math.min(this.shown.picks ?? 1, descending.length) - 1];
    this.rows.forEach(({ row, value }, number) => {
      value.textContent = this.shown.text(values[number], place, number);
      const isPreferred = values[number] !== null && values[number] >= least;
      row.classList.toggle("preferred", this.shown.lines === data.candidates && isPreferred);
    });
  }
}
