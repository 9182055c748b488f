"use strict";
// Draws the curves, the cells and Λ of a report from the data that the page embeds, and makes its tables sortable.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  // Elements ----------------------------------------------------------------------------------------------------------

  /** Create an element of HTML or, with a prefix "svg:", of SVG. */
  const create = (name, attributes = {}, ...content) => {
    const found = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    found.append(...content);
    return found;
  };
  const part = (root, name) => root.querySelector(`[data-of="${name}"]`);
  const cloned = (name) => document.getElementById(name).content.cloneNode(true);
  /** Give an element its colours in the light and in the dark. */
  const coloured = (element, line) => {
    element.style.setProperty("--light", line.light);
    element.style.setProperty("--dark", line.dark);
    return element;
  };
  const swatch = (line, kind = "curve") => {
    const path = create("svg:path", { class: kind, d: "M1 7H31" });
    if (line.dash) path.setAttribute("stroke-dasharray", line.dash);
    const found = create("svg:svg", { class: "swatch", viewBox: "0 0 32 14", "aria-hidden": "true" }, coloured(path, line));
    if (line.marker) found.append(coloured(create("svg:circle", { class: "mark", cx: 16, cy: 7, r: 3 }), line));
    return found;
  };

  // What the reader has chosen survives a reload of a page that is renewed -------------------------------------------------

  const STORE = `report:${document.title}`;
  const kept = (() => {
    try { return JSON.parse(sessionStorage.getItem(STORE)) || {}; } catch { return {}; }
  })();
  const keep = (key, value) => {
    kept[key] = value;
    try { sessionStorage.setItem(STORE, JSON.stringify(kept)); } catch { /* a browser without storage forgets it */ }
  };

  // Numbers -----------------------------------------------------------------------------------------------------------

  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const superscript = (power) => (power < 0 ? "⁻" : "") + [...String(Math.abs(power))].map((of) => SUPERSCRIPTS[of]).join("");
  const english = (value, digits = 6) => value.toLocaleString("en", { maximumSignificantDigits: digits });
  /** Return a number for the tick of an axis. */
  const tickText = (value) => {
    if (Math.abs(value) < 1e5) return english(value);
    const power = Math.floor(Math.log10(Math.abs(value)));
    const factor = value / 10 ** power;
    return `${Math.abs(factor - 1) < 1e-9 ? "" : `${english(factor, 3)}×`}10${superscript(power)}`;
  };
  /** Return a value of a chart: with decimal places, or else with four significant digits. */
  const valueText = (value, digits) => digits === null ? english(value, 4) : value.toFixed(digits);
  /** Return round positions of ticks between two values. */
  const ticks = (low, high, most, isLog) => {
    if (isLog && high / low >= 8) {
      const factors = high / low < 200 ? [1, 2, 5] : [1];
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
        for (const factor of factors) found.push(factor * 10 ** power);
      const inside = found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
      const step = Math.ceil(inside.length / most);
      return inside.filter((_, place) => place % step === 0);
    }
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough || 1));
    const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) || 10);
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, place) => (first + place) * step);
  };

  // Charts ------------------------------------------------------------------------------------------------------------

  /** Return the place of the last of ascending positions that is not after a position; -1 before the first. */
  const lastPlace = (at, position) => {
    let [low, high] = [0, at.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle] <= position) low = middle + 1; else high = middle;
    }
    return low - 1;
  };

  /** A chart of curves with their bands, with switches, and a legend that shows the values at a position. */
  class Chart {
    constructor(root, chart, key) {
      this.chart = chart;
      this.key = key;
      const usual = { axis: chart.axes[0].key, x: {}, y: {}, bands: chart.bands, hidden: [] };
      this.state = { ...usual, ...kept[key] };
      if (!chart.axes.some((axis) => axis.key === this.state.axis)) this.state.axis = usual.axis;
      this.position = null;
      const largest = Math.max(...chart.curves.flatMap((curve) => Object.values(curve.axes).flatMap((of) => of.high || of.mean)));
      this.rows = [
        ...chart.curves.map((curve) => ({ ...curve, isShown: !this.state.hidden.includes(curve.label) })),
        ...chart.levels.map((level) => ({ ...level, isLevel: true, isShown: !this.state.hidden.includes(level.label) })),
      ];
      // A level far above the curves would flatten them: it is hidden until the reader asks for it.
      for (const row of this.rows)
        if (row.isLevel && row.value > 1.5 * largest && !this.state.shown?.includes(row.label)) row.isShown = false;
      root.append(cloned("chart-template"));
      this.root = root;
      this.plot = root.querySelector(".plot");
      this.addSwitches();
      this.addLegend();
      this.svg = create("svg:svg", { tabindex: 0, role: "application", "aria-roledescription": "chart" });
      this.svg.setAttribute("aria-label", `${chart.name}. Arrow keys move the position at which values are read.`);
      this.plot.append(this.svg);
      this.listen();
      new ResizeObserver(() => this.draw()).observe(this.plot);
      this.draw();
    }

    get axis() { return this.chart.axes.find((axis) => axis.key === this.state.axis); }
    get isLogX() { return this.state.x[this.axis.key] ?? this.axis.log; }
    get isLogY() { return this.state.y[this.axis.key] ?? this.axis.log; }
    get shown() { return this.rows.filter((row) => row.isShown && (row.isLevel || row.axes[this.axis.key])); }

    addSwitches() {
      const scales = [["linear", "Linear"], ["log", "Logarithmic"]];
      this.addSwitch("axis", this.chart.axes.map((axis) => [axis.key, axis.name]), (value) => { this.state.axis = value; });
      for (const of of ["x", "y"])
        this.addSwitch(of, scales, (value) => { this.state[of] = { ...this.state[of], [this.axis.key]: value === "log" }; });
      if (this.chart.axes.length === 1) part(this.root, "axis").hidden = true;
      const bands = part(this.root, "bands");
      bands.parentElement.hidden = !this.chart.curves.some((curve) => curve.n > 1);
      bands.checked = this.state.bands;
      bands.addEventListener("change", () => { this.state.bands = bands.checked; this.changed(); });
    }

    addSwitch(name, values, choose) {
      const group = part(this.root, name);
      for (const [value, text] of values) {
        const input = create("input", { type: "radio", name: `${this.key}-${name}`, value });
        input.addEventListener("change", () => { choose(value); this.changed(); });
        group.append(create("label", {}, input, text));
      }
    }

    addLegend() {
      part(this.root, "interval").textContent = this.chart.curves.some((curve) => curve.n > 1) ? "and band" : "";
      this.root.querySelector(".legend-frame").setAttribute("aria-label", `Curves: ${this.chart.name}`);
      const body = this.root.querySelector(".legend tbody");
      for (const row of this.rows) {
        const box = create("input", { type: "checkbox" });
        box.checked = row.isShown;
        box.addEventListener("change", () => { row.isShown = box.checked; this.changed(); });
        const look = row.isLevel ? swatch({ light: "", dark: "" }, "level") : swatch(row);
        const label = create("label", {}, box, look, create("span", {}, row.label));
        const [value, band] = [create("span"), create("small")];
        const count = create("td", { class: "number" }, row.isLevel ? "" : english(row.n));
        row.element = create("tr", {}, create("th", { scope: "row" }, label), create("td", { class: "number" }, value, band), count);
        [row.box, row.valueCell, row.bandCell] = [box, value, band];
        row.element.addEventListener("pointerenter", () => { this.near = row; this.draw(); });
        row.element.addEventListener("pointerleave", () => { this.near = null; this.draw(); });
        body.append(row.element);
      }
      for (const [name, isShown] of [["all", true], ["none", false]])
        part(this.root, name).addEventListener("click", () => {
          for (const row of this.rows) if (!row.isLevel) [row.isShown, row.box.checked] = [isShown, isShown];
          this.changed();
        });
      this.root.querySelector(".several").hidden = this.chart.curves.length < 6;
    }

    changed() {
      this.state.hidden = this.rows.filter((row) => !row.isShown).map((row) => row.label);
      this.state.shown = this.rows.filter((row) => row.isShown).map((row) => row.label);
      keep(this.key, this.state);
      this.position = null;
      this.draw();
    }

    listen() {
      this.svg.addEventListener("pointermove", (event) => this.point(event));
      this.svg.addEventListener("pointerdown", (event) => this.point(event));
      this.svg.addEventListener("pointerleave", () => { if (document.activeElement !== this.svg) this.moveTo(null); });
      this.svg.addEventListener("blur", () => this.moveTo(null));
      this.svg.addEventListener("keydown", (event) => {
        const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
        if (event.key === "Escape") this.moveTo(null);
        if (!(event.key in steps)) return;
        event.preventDefault();
        this.step(steps[event.key]);
      });
    }

    /** Return the smallest and largest position of the shown curves. */
    span() {
      const all = this.shown.filter((row) => !row.isLevel).map((row) => row.axes[this.axis.key].at);
      const every = all.flat();
      if (!every.length) return [0, 1];
      const high = Math.max(...all.map((at) => at[at.length - 1]));
      const low = this.isLogX ? Math.min(...every.filter((at) => at > 0)) : Math.min(...all.map((at) => at[0]));
      return low < high ? [low, high] : [low - 0.5, high + 0.5].map((of) => (this.isLogX ? Math.max(of, high / 2) : of));
    }

    /** Return the lower and the upper edge of the vertical axis. */
    range() {
      let high = 0;
      for (const row of this.shown) {
        const curve = row.isLevel ? { mean: [row.value] } : row.axes[this.axis.key];
        high = Math.max(high, ...((this.state.bands && curve.high) || curve.mean));
      }
      if (!this.isLogY) return [0, 1.05 * high || 1];
      const low = this.axis.floor || 1e-3;
      return [low, Math.max(1.15 * high, 2 * low)];
    }

    /** Draw everything but the values at a position. */
    draw() {
      const width = Math.max(280, Math.round(this.plot.clientWidth));
      const height = Math.round(Math.min(460, Math.max(280, 0.62 * width)));
      const box = { left: 52, right: width - 12, top: 28, bottom: height - 44 };
      const [[x0, x1], [y0, y1]] = [this.span(), this.range()];
      const place = (value, low, high, isLog) => isLog
        ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
      this.box = box;
      this.x = (value) => box.left + (box.right - box.left) * place(value, x0, x1, this.isLogX);
      this.y = (value) => box.bottom - (box.bottom - box.top) * place(value, y0, y1, this.isLogY);
      this.positionAt = (pixel) => {
        const share = Math.min(1, Math.max(0, (pixel - box.left) / (box.right - box.left)));
        return this.isLogX ? x0 * (x1 / x0) ** share : x0 + share * (x1 - x0);
      };
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.classList.toggle("faded", Boolean(this.near?.isShown));
      this.svg.replaceChildren(...this.grid([x0, x1], [y0, y1], width));
      const [behind, front] = [create("svg:g"), create("svg:g")];
      for (const row of this.shown) {
        if (row.isLevel) behind.append(this.level(row));
        else this.addCurve(row, behind, front);
      }
      this.cursor = create("svg:g");
      this.svg.append(behind, front, this.cursor);
      for (const of of ["axis", "x", "y"]) {
        const value = of === "axis" ? this.axis.key : (of === "x" ? this.isLogX : this.isLogY) ? "log" : "linear";
        for (const input of part(this.root, of).querySelectorAll("input")) input.checked = input.value === value;
      }
      this.showValues();
    }

    grid([x0, x1], [y0, y1], width) {
      const { left, right, top, bottom } = this.box;
      const found = [create("svg:rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top })];
      for (const value of ticks(x0, x1, width < 460 ? 4 : 7, this.isLogX)) {
        const x = this.x(value);
        found.push(create("svg:path", { class: "grid", d: `M${x} ${top}V${bottom}` }));
        found.push(create("svg:text", { x, y: bottom + 17, "text-anchor": "middle" }, tickText(value)));
      }
      for (const value of ticks(y0, y1, 6, this.isLogY)) {
        const y = this.y(value);
        found.push(create("svg:path", { class: "grid", d: `M${left} ${y}H${right}` }));
        found.push(create("svg:text", { x: left - 7, y: y + 4, "text-anchor": "end" }, tickText(value)));
      }
      found.push(create("svg:text", { class: "title", x: left, y: 15 }, this.chart.vertical));
      found.push(create("svg:text", { class: "title", x: (left + right) / 2, y: bottom + 37, "text-anchor": "middle" }, this.axis.label));
      return found;
    }

    level(row) {
      const y = this.y(row.value);
      return create("svg:path", { class: "level", d: `M${this.box.left} ${y}H${this.box.right}` });
    }

    addCurve(row, behind, front) {
      const curve = row.axes[this.axis.key];
      const near = this.near === row ? " near" : "";
      if (this.state.bands && curve.low) behind.append(coloured(create("svg:path", { class: `band${near}`, d: this.bandPath(curve) }), row));
      const path = create("svg:path", { class: `curve${near}`, d: this.linePath(curve.at, curve.mean) });
      if (row.dash) path.setAttribute("stroke-dasharray", row.dash);
      front.append(coloured(path, row));
      const last = curve.at.length - 1;
      if (row.marker) {
        const every = Math.max(1, Math.floor(curve.at.length / 10));
        for (let at = 0; at <= last; at += every) if (curve.mean[at] !== null) front.append(this.dot(row, curve.at[at], curve.mean[at], near));
      }
      const end = this.span()[1];
      if (row.holds && curve.at[last] < end && curve.mean[last] !== null) {
        const y = this.y(curve.mean[last]);
        const d = `M${this.x(curve.at[last])} ${y}H${this.x(end)}`;
        front.append(coloured(create("svg:path", { class: `curve held${near}`, d }), row), this.dot(row, curve.at[last], curve.mean[last], near));
      }
    }

    dot(row, at, value, near = "") {
      return coloured(create("svg:circle", { class: `mark${near}`, cx: this.x(at), cy: this.y(value), r: 3.5 }), row);
    }

    /** Return the path of values, in steps if they hold until the next position; unknown values are gaps. */
    linePath(at, values) {
      let [path, isOpen] = ["", false];
      for (let place = 0; place < at.length; place += 1) {
        if (values[place] === null) { isOpen = false; continue; }
        const [x, y] = [this.x(at[place]).toFixed(1), this.y(values[place]).toFixed(1)];
        path += !isOpen ? `M${x} ${y}` : this.axis.steps ? `H${x}V${y}` : `L${x} ${y}`;
        isOpen = true;
      }
      return path;
    }

    bandPath(curve) {
      let path = "";
      for (let start = 0; start < curve.at.length; start += 1) {
        if (curve.low[start] === null) continue;
        let end = start;
        while (end + 1 < curve.at.length && curve.low[end + 1] !== null) end += 1;
        const [at, low, high] = [curve.at, curve.low, curve.high].map((of) => of.slice(start, end + 1));
        const edges = (values) => at.flatMap((of, place) => {
          const here = [this.x(of), this.y(values[place])];
          return this.axis.steps && place ? [[here[0], this.y(values[place - 1])], here] : [here];
        });
        path += `M${[...edges(high), ...edges(low).reverse()].map((of) => of.map((value) => value.toFixed(1)).join(" ")).join("L")}Z`;
        start = end;
      }
      return path;
    }

    // Values at a position

    point(event) {
      const frame = this.svg.getBoundingClientRect();
      const scale = this.svg.viewBox.baseVal.width / frame.width;
      const [x, y] = [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
      const position = this.positionAt(x);
      this.moveTo(this.axis.steps ? position : Math.round(position), y);
    }

    step(number) {
      const [low, high] = this.span();
      if (!Number.isFinite(number)) return this.moveTo(number < 0 ? low : high, undefined, true);
      if (!this.axis.steps) return this.moveTo(Math.min(high, Math.max(low, (this.position ?? high) + number)), undefined, true);
      const width = (this.box.right - this.box.left) / 50;
      return this.moveTo(this.positionAt(this.x(this.position ?? high) + number * width), undefined, true);
    }

    /** Read the values at a position; null: at the ends of the curves. A height in pixels selects the nearest curve. */
    moveTo(position, height, isSpoken = false) {
      this.position = position;
      if (height !== undefined) {
        const distance = (row) => Math.abs(this.y(this.at(row)?.mean ?? Infinity) - height);
        const curves = this.shown.filter((row) => !row.isLevel && this.at(row));
        const nearest = curves.reduce((best, row) => (!best || distance(row) < distance(best) ? row : best), null);
        const near = nearest && distance(nearest) < 26 && curves.length > 1 ? nearest : null;
        if (near !== this.near) { this.near = near; this.draw(); }
      } else if (this.near) { this.near = null; this.draw(); }
      this.showValues();
      if (isSpoken) part(this.root, "live").textContent = this.spoken();
    }

    /** Return the values of a curve at the position; null if it has none there. */
    at(row) {
      if (row.isLevel) return { mean: row.value };
      const curve = row.axes[this.axis.key];
      if (!curve) return null;
      const last = curve.at.length - 1;
      const place = this.position === null ? last : lastPlace(curve.at, this.position);
      if (place < 0 || (place === last && this.position > curve.at[last] && !row.holds) || curve.mean[place] === null) return null;
      return { mean: curve.mean[place], low: curve.low?.[place] ?? null, high: curve.high?.[place] ?? null };
    }

    get positionText() {
      const label = this.axis.label.replace(/ \[s\]$/, "");
      if (this.position === null) return "at the end";
      if (!this.axis.steps) return `epoch ${english(this.position)}`;
      return this.axis.label.endsWith("[s]") ? `${english(this.position, 4)} s` : `${english(Math.floor(this.position))} trainings`;
    }

    showValues() {
      const unit = this.chart.unit ? ` [${this.chart.unit}]` : "";
      part(this.root, "value").textContent = `${this.positionText}${unit}`;
      this.cursor.replaceChildren();
      if (this.position !== null) {
        const x = this.x(this.position);
        this.cursor.append(create("svg:path", { class: "cursor", d: `M${x} ${this.box.top}V${this.box.bottom}` }));
      }
      for (const row of this.rows) {
        const found = row.isLevel || row.axes[this.axis.key] ? this.at(row) : null;
        const digits = this.chart.digits;
        row.valueCell.textContent = found ? valueText(found.mean, digits) : "–";
        row.bandCell.textContent = found && found.low != null ? `${valueText(found.low, digits)} to ${valueText(found.high, digits)}` : "";
        row.element.classList.toggle("hidden-curve", !row.isShown);
        row.element.classList.toggle("near", this.near === row);
        if (this.position !== null && row.isShown && !row.isLevel && found) this.cursor.append(this.dot(row, this.position, found.mean));
      }
    }

    spoken() {
      const curves = this.shown.filter((row) => !row.isLevel).slice(0, 5);
      const values = curves.map((row) => `${row.label} ${this.at(row) ? valueText(this.at(row).mean, this.chart.digits) : "no value"}`);
      return `${this.positionText}: ${values.join(", ")}`;
    }
  }

  // Cells and Λ -------------------------------------------------------------------------------------------------------

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
      const wing = (turn) => `${x - Math.cos(slope + turn) * size * 1.15} ${bottom - Math.sin(slope + turn) * size * 1.15}`;
      svg.append(line, create("svg:path", { class: `head${idle}`, d: `M${x} ${bottom}L${wing(0.42)}L${wing(-0.42)}Z` }));
      const text = frame.labels?.[place];
      if (text) labels.push([side * (half + bulge), (top + bottom) / 2, text, idle]);
    }
    frame.nodes.forEach((text, node) => {
      const [idle, decided] = [live.has(node) ? "" : " idle", frame.decided?.[node] === "1" ? " decided" : ""];
      const box = create("svg:rect", { class: `node${idle}${decided}`, x: -half, y: node * distance - tall, width: 2 * half, height: 2 * tall, rx: 0.1 });
      const isEnd = node === 0 || node === frame.nodes.length - 1;
      const operation = frame.operations[node];
      if (!idle) box.setAttribute("fill", isEnd ? data.ends : operation === null ? "#ffffff" : data.operations[operation % data.operations.length]);
      svg.append(box, create("svg:text", { class: `on-node${idle}`, x: 0, y: node * distance, "font-size": drawn.text }, text));
    });
    for (const [x, y, text, idle] of labels) {
      const lines = text.split("\n");
      const [wide, high] = [Math.max(...lines.map((of) => of.length)) * 0.135 + 0.1, lines.length * 0.27];
      svg.append(create("svg:rect", { class: "behind", x: x - wide / 2, y: y - high / 2, width: wide, height: high }));
      lines.forEach((of, place) => {
        const lineY = y + (place - (lines.length - 1) / 2) * 0.26;
        svg.append(create("svg:text", { class: `label${idle}`, x, y: lineY, "font-size": 0.225 }, of));
      });
    }
    return svg;
  };

  const drawBars = (drawn, frame) => {
    const [length, distance, tall] = [3.4, 0.64, 0.22];
    const unit = length / Math.max(...drawn.candidates);
    const svg = picture(-1.9, length + 1.3, -(drawn.names.length - 1) * distance - 0.35, 0.35);
    drawn.names.forEach((name, row) => {
      const y = row * distance;
      const bar = (from, to, more) => create("svg:rect", { x: from * unit, y: y - tall, width: (to - from) * unit, height: 2 * tall, ...more });
      const fill = data.operations[drawn.kinds[row] % data.operations.length];
      svg.append(bar(0, Math.max(...drawn.candidates), { class: "track" }));
      const weights = frame.weights?.[row];
      if (weights) {
        const largest = Math.max(...weights.map((of) => of ?? 0), 1);
        drawn.candidates.forEach((size, place) => svg.append(
          bar(place ? drawn.candidates[place - 1] : 0, size, { fill, "fill-opacity": (weights[place] ?? 0) / largest })));
      } else svg.append(bar(0, frame.values[row], { fill }));
      svg.append(bar(0, frame.values[row], { class: "outline" }));
      const weight = weights ? ` (${(weights[drawn.candidates.indexOf(frame.values[row])] / 1000).toFixed(2)})` : "";
      svg.append(create("svg:text", { class: "end", x: -0.15, y, "font-size": 0.26 }, name));
      svg.append(create("svg:text", { class: "start", x: length + 0.15, y, "font-size": 0.26 }, `${frame.values[row]}${weight}`));
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
      this.of("search").addEventListener("change", () => { keep("search", this.search.label); keep("epoch", null); this.show(); });
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
      const choices = search.choices.map(
        (choice) => new EpochPanel({ ...choice, lines: data.candidates, top: 1000, unit: 1000, text: weight }, search.epochs, choose));
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
        const source = number ? "" : search.measured[place] === "1" ? ", measured" : ", predicted";
        return `${valueText(value, 3)} %${source}`;
      };
      return { name: "Regret [%]", entries: ["test regret", "validation regret"], values, lines: search.lines, top, unit: 1, text };
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
      for (const value of ticks(0, last, 5, false).filter(Number.isInteger))
        svg.append(create("svg:text", { x: this.x(value), y: height - 5, "text-anchor": "middle" }, tickText(value)));
      const body = create("tbody");
      this.rows = shown.entries.map((entry, number) => {
        const line = shown.lines[number % shown.lines.length];
        const points = shown.values.map((of, place) => (of[number] === null ? "" : `${this.x(epochs[place]).toFixed(1)} ${y(of[number]).toFixed(1)}`));
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
        row.classList.toggle("preferred", this.shown.lines === data.candidates && values[number] !== null && values[number] >= least);
      });
    }
  }

  // Tables ------------------------------------------------------------------------------------------------------------

  /** Sort the rows of a table by the column of a button in its heading; empty values stay last. */
  const sortable = (table) => {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      if (table.tBodies[0].rows.length < 2 || !heading.textContent) return;
      const button = create("button", { type: "button", class: "sort" }, heading.textContent);
      heading.replaceChildren(button);
      button.addEventListener("click", () => {
        const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of headings) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
        const value = (row) => {
          const cell = row.cells[column];
          if (!("value" in cell.dataset)) return cell.textContent;
          return cell.dataset.value === "" ? null : Number(cell.dataset.value);
        };
        const compare = (one, other) => {
          const [a, b] = [value(one), value(other)];
          if (a === null || b === null) return (a === null) - (b === null);
          return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
        };
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
      });
    });
  };

  // Reloading a page that is renewed --------------------------------------------------------------------------------------

  const watch = () => {
    const box = document.getElementById("reload");
    if (!box) return;
    box.checked = kept.reload ?? true;
    box.addEventListener("change", () => keep("reload", box.checked));
    setInterval(() => {
      if (!box.checked) return;
      keep("focus", document.activeElement?.id || null);
      location.reload();
    }, 1000 * data.watch);
    if (kept.focus) document.getElementById(kept.focus)?.focus({ preventScroll: true });
  };

  for (const root of document.querySelectorAll("[data-chart]"))
    new Chart(root, data.charts[Number(root.dataset.chart)], `chart-${root.dataset.chart}`);
  const searches = document.getElementById("searches");
  if (searches) new Searches(searches, data.searches);
  document.querySelectorAll("table.sortable").forEach(sortable);
  for (const details of document.querySelectorAll("details")) {
    details.open = Boolean(kept[details.id]) || details.open;
    details.addEventListener("toggle", () => keep(details.id, details.open));
  }
  window.addEventListener("beforeprint", () => { for (const of of document.querySelectorAll("details")) of.open = true; });
  document.querySelectorAll("button, input, select, summary, .plot svg").forEach((element, number) => { element.id ||= `control-${number}`; });
  watch();
})();
