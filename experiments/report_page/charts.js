// The curves of a report.

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
class Chart extends Plot {
  constructor(root, chart, key) {
    super(root, key, "chart-template", `${chart.name}. Arrow keys move the position at which values are read.`);
    this.chart = chart;
    const usual = { axis: chart.axes[0].key, x: {}, y: {}, bands: chart.bands, hidden: [] };
    this.state = { ...usual, ...kept[key] };
    if (!chart.axes.some((axis) => axis.key === this.state.axis)) this.state.axis = usual.axis;
    this.position = null;
    const values = chart.curves.flatMap((curve) => Object.values(curve.axes).flatMap((of) => of.high || of.mean));
    const largest = Math.max(...values);
    this.rows = [...chart.curves, ...chart.levels].map((row) => ({
      ...row, isLevel: !row.axes, isShown: !this.state.hidden.includes(row.label),
    }));
    // A level far above the curves would flatten them: it is hidden until the reader asks for it.
    for (const row of this.rows)
      if (row.isLevel && row.value > 1.5 * largest && !this.state.shown?.includes(row.label)) row.isShown = false;
    this.addSwitches();
    this.addLegend();
    this.listen();
    this.start();
  }

  get axis() { return this.chart.axes.find((axis) => axis.key === this.state.axis); }
  get leastX() { return this.axis.whole ? 1 : 0; }
  get isLogX() { return this.state.x[this.axis.key] ?? this.axis.log; }
  get isLogY() { return this.state.y[this.axis.key] ?? this.axis.log; }
  get shown() { return this.rows.filter((row) => row.isShown && (row.isLevel || row.axes[this.axis.key])); }

  addSwitches() {
    const scales = [["linear", "Linear"], ["log", "Logarithmic"]];
    const axes = this.chart.axes.map((axis) => [axis.key, axis.name]);
    this.addSwitch("axis", axes, (value) => { this.state.axis = value; });
    for (const of of ["x", "y"])
      this.addSwitch(of, scales, (value) => {
        this.state[of] = { ...this.state[of], [this.axis.key]: value === "log" };
      });
    part(this.root, "axis").querySelector("legend").textContent = this.chart.switch;
    if (this.chart.axes.length === 1) part(this.root, "axis").hidden = true;
    const bands = part(this.root, "bands");
    bands.parentElement.hidden = !this.chart.curves.some((curve) => curve.n > 1);
    bands.checked = this.state.bands;
    bands.addEventListener("change", () => { this.state.bands = bands.checked; this.changed(); });
  }

  addLegend() {
    const hasBands = this.chart.curves.some((curve) => curve.n > 1);
    part(this.root, "interval").textContent = hasBands ? "and band" : "";
    this.root.querySelector(".legend-frame").setAttribute("aria-label", `Curves: ${this.chart.name}`);
    const body = this.root.querySelector(".legend tbody");
    for (const row of this.rows) {
      const box = create("input", { type: "checkbox" });
      box.checked = row.isShown;
      box.addEventListener("change", () => { row.isShown = box.checked; this.changed(); });
      const look = swatch(row, row.isLevel ? "level" : "curve");
      const label = create("label", {}, box, look, create("span", {}, row.label));
      const [value, band] = [create("span"), create("small")];
      const count = create("td", { class: "number" }, row.isLevel ? "" : english(row.n));
      const values = create("td", { class: "number" }, value, band);
      row.element = create("tr", {}, create("th", { scope: "row" }, label), values, count);
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

  /** Return the smallest and largest position of the shown curves. */
  span() {
    const all = this.shown.filter((row) => !row.isLevel).map((row) => row.axes[this.axis.key].at);
    const drawable = all.flat().filter((at) => at > 0 || !this.isLogX);
    if (!drawable.length) return this.isLogX ? [1, 10] : [0, 1];  // a logarithmic axis cannot begin at 0
    const high = Math.max(...all.map((at) => at[at.length - 1]));
    const low = this.isLogX ? Math.min(...drawable) : Math.min(...all.map((at) => at[0]));
    if (low < high) return [low, high];
    return [low - 0.5, high + 0.5].map((edge) => (this.isLogX ? Math.max(edge, high / 2) : edge));
  }

  /** Return the lower and the upper edge of the vertical axis. */
  range() {
    let high = 0;
    for (const row of this.shown) {
      const curve = row.isLevel ? { mean: [row.value] } : row.axes[this.axis.key];
      high = Math.max(high, curve.result?.mean ?? 0, ...((this.state.bands && curve.high) || curve.mean));
    }
    if (!this.isLogY) return [0, 1.05 * high || 1];
    const low = this.axis.floor || 1e-3;
    return [low, Math.max(1.15 * high, 2 * low)];
  }

  /** Draw everything but the values at a position. */
  draw() {
    this.drawAxes(this.span(), this.range(), this.axis.label, this.axis.vertical);
    this.svg.classList.toggle("faded", Boolean(this.near?.isShown));
    const [behind, front] = [create("svg:g"), create("svg:g")];
    for (const row of this.shown) {
      if (row.isLevel) behind.append(this.level(row));
      else this.addCurve(row, behind, front);
    }
    this.cursor = create("svg:g");
    this.svg.append(behind, front, this.cursor);
    this.showSwitch("axis", this.axis.key);
    for (const [of, isLog] of [["x", this.isLogX], ["y", this.isLogY]]) this.showSwitch(of, isLog ? "log" : "linear");
    this.showValues();
  }

  level(row) {
    const y = this.y(row.value);
    const near = this.near === row ? " near" : "";
    const path = create("svg:path", { class: `level${near}`, d: `M${this.box.left} ${y}H${this.box.right}` });
    path.setAttribute("stroke-dasharray", row.dash);
    return coloured(path, row);
  }

  addCurve(row, behind, front) {
    const curve = row.axes[this.axis.key];
    const near = this.near === row ? " near" : "";
    if (this.state.bands && curve.low)
      behind.append(coloured(create("svg:path", { class: `band${near}`, d: this.bandPath(curve) }), row));
    const path = create("svg:path", { class: `curve${near}`, d: this.linePath(curve.at, curve.mean) });
    if (row.dash) path.setAttribute("stroke-dasharray", row.dash);
    front.append(coloured(path, row));
    const last = curve.at.length - 1;
    if (row.marker) {
      // Over epochs, each marker is at a recorded epoch: every k-th, unless equal values around it were left out.
      const every = Math.max(1, Math.floor(curve.at.length / 10));
      const epochs = Math.max(1, Math.ceil((curve.at[last] - curve.at[0]) / 12));
      for (let place = 0; place <= last; place += 1)
        if (curve.mean[place] !== null && (this.axis.steps ? place % every : (curve.at[place] - curve.at[0]) % epochs) === 0) {
          const transform = `translate(${this.x(curve.at[place]).toFixed(1)} ${this.y(curve.mean[place]).toFixed(1)})`;
          front.append(coloured(create("svg:path", { class: `mark${near}`, d: row.marker, transform }), row));
        }
    }
    const [end, held] = [this.span()[1], curve.result?.mean ?? null];
    if (curve.at[last] < end && held !== null) {
      const y = this.y(held);
      const d = `M${this.x(curve.at[last])} ${y}H${this.x(end)}`;
      const tail = coloured(create("svg:path", { class: `curve held${near}`, d }), row);
      front.append(tail, this.dot(row, curve.at[last], held, near));
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
      const corners = [...edges(high), ...edges(low).reverse()];
      path += `M${corners.map((corner) => corner.map((value) => value.toFixed(1)).join(" ")).join("L")}Z`;
      start = end;
    }
    return path;
  }

  // Values at a position

  point(event) {
    const [x, y] = this.pixels(event);
    const position = this.positionAt(x);
    this.moveTo(this.axis.steps ? position : Math.round(position), y);
  }

  step(number) {
    const [first, last] = this.span();
    const [low, high] = this.axis.steps ? [first, last] : [Math.ceil(first) + 0, Math.floor(last)];  // + 0: no -0
    if (!Number.isFinite(number)) return this.moveTo(number < 0 ? low : high, undefined, true);
    const here = this.position ?? high;
    const width = (this.box.right - this.box.left) / 50;
    const there = this.axis.steps ? this.positionAt(this.x(here) + number * width) : here + number;
    return this.moveTo(Math.min(high, Math.max(low, there)), undefined, true);
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
    const isOver = this.position !== null && this.position > curve.at[last];
    if (curve.result && (isOver || this.position === null)) return curve.result.mean === null ? null : curve.result;
    if (place < 0 || isOver || curve.mean[place] === null) return null;
    return { mean: curve.mean[place], low: curve.low?.[place] ?? null, high: curve.high?.[place] ?? null };
  }

  get positionText() {
    if (this.position === null) return "at the end";
    if (!this.axis.steps) return `epoch ${english(this.position)}`;
    const isTime = this.axis.label.endsWith("[s]");
    return isTime ? `${english(this.position, 4)} s` : `${english(Math.floor(this.position))} trainings`;
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
      const hasBand = found && found.low != null; // unknown, or there is one run
      row.bandCell.textContent = hasBand ? `${valueText(found.low, digits)} to ${valueText(found.high, digits)}` : "";
      row.element.classList.toggle("hidden-curve", !row.isShown);
      row.element.classList.toggle("near", this.near === row);
      if (this.position !== null && row.isShown && !row.isLevel && found)
        this.cursor.append(this.dot(row, this.position, found.mean));
    }
  }

  spoken() {
    const curves = this.shown.filter((row) => !row.isLevel).slice(0, 5);
    const values = curves.map((row) => {
      const found = this.at(row);
      return `${row.label} ${found ? valueText(found.mean, this.chart.digits) : "no value"}`;
    });
    return `${this.positionText}: ${values.join(", ")}`;
  }
}
