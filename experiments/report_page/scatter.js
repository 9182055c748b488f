// Rankings: the true errors of architectures against their one-shot errors or losses.

/** A scatter plot with a switch of the predictor, and a readout of the architecture nearest to the pointer. */
class Scatter extends Plot {
  constructor(root, scatter, key) {
    super(root, key, "scatter-template", `${scatter.name}. Arrow keys move from architecture to architecture.`);
    this.scatter = scatter;
    this.state = { predictor: scatter.predictors[0].key, ...kept[key] };
    if (!this.predictor) this.state.predictor = scatter.predictors[0].key;
    this.place = null; // in `order`
    const predictors = scatter.predictors.map((of) => [of.key, of.name]);
    this.addSwitch("predictor", predictors, (value) => { this.state.predictor = value; });
    const legend = part(this.root, "legend");
    for (const kind of scatter.kinds) {
      const dot = create("svg:svg", { class: "swatch", viewBox: "0 0 32 14", "aria-hidden": "true" });
      dot.append(coloured(create("svg:circle", { class: "mark", cx: 16, cy: 7, r: 4 }), kind));
      legend.append(create("li", {}, dot, create("span", {}, kind.label)));
    }
    for (const mark of scatter.marks) legend.append(create("li", {}, swatch(mark, "none"), create("span", {}, mark.label)));
    this.listen();
    this.start();
  }

  get predictor() { return this.scatter.predictors.find((of) => of.key === this.state.predictor); }

  changed() {
    keep(this.key, this.state);
    this.place = null;
    this.draw();
  }

  draw() {
    const { predictor, scatter } = this;
    const [x, y] = [predictor.values, scatter.truth];
    this.order = [...x.keys()].sort((one, other) => x[one] - x[other] || y[one] - y[other]);
    this.drawAxes(padded(x), padded(y), predictor.label, scatter.vertical);
    const dots = create("svg:g");
    const size = x.length > 500 ? 2.2 : 3.5;
    for (const [number, kind] of scatter.kinds.entries()) // measured values lie above predicted ones
      for (let at = 0; at < x.length; at += 1)
        if (Number(scatter.of[at]) === number)
          dots.append(coloured(create("svg:circle", { class: "dot", cx: this.x(x[at]).toFixed(1), cy: this.y(y[at]).toFixed(1), r: size }), kind));
    for (const mark of scatter.marks) {
      const transform = `translate(${this.x(x[mark.at]).toFixed(1)} ${this.y(y[mark.at]).toFixed(1)}) scale(1.8)`;
      dots.append(coloured(create("svg:path", { class: "mark ringed", d: mark.marker, transform }), mark));
    }
    this.cursor = create("svg:g");
    this.svg.append(dots, this.cursor);
    this.showSwitch("predictor", predictor.key);
    for (const name of ["correlation", "interval"]) part(this.root, name).textContent = predictor[name];
    this.showValues();
  }

  // The architecture at a place

  point(event) {
    const [x, y] = this.pixels(event);
    const distance = (at) => Math.hypot(this.x(this.predictor.values[at]) - x, this.y(this.scatter.truth[at]) - y);
    let nearest = 0;
    for (let place = 1; place < this.order.length; place += 1)
      if (distance(this.order[place]) < distance(this.order[nearest])) nearest = place;
    this.moveTo(distance(this.order[nearest]) < 40 ? nearest : null);
  }

  step(number) {
    const last = this.order.length - 1;
    const from = this.place ?? (number > 0 ? -1 : last + 1);
    this.moveTo(Math.min(last, Math.max(0, number === -Infinity ? 0 : number === Infinity ? last : from + number)), true);
  }

  moveTo(place, isSpoken = false) {
    this.place = place;
    this.showValues();
    if (isSpoken)
      part(this.root, "live").textContent = [...this.root.querySelectorAll(".facts > div")].map((of) => of.textContent).join("; ");
  }

  showValues() {
    const { predictor, scatter } = this;
    const at = this.place === null ? null : this.order[this.place];
    const values = at === null ? ["–", "–", "–"] : [
      `${english(scatter.numbers[at])} of ${scatter.space}`,
      `${valueText(predictor.values[at], predictor.digits)} ${predictor.unit}`,
      `${valueText(scatter.truth[at], 2)} %, ${scatter.kinds[Number(scatter.of[at])].source}`,
    ];
    part(this.root, "predicted-name").textContent = predictor.name;
    for (const [place, name] of ["number", "predicted", "true"].entries()) part(this.root, name).textContent = values[place];
    this.cursor.replaceChildren();
    if (at !== null) {
      const circle = { class: "ring", cx: this.x(predictor.values[at]), cy: this.y(scatter.truth[at]), r: 7 };
      this.cursor.append(create("svg:circle", circle));
    }
  }
}

/** Return the smallest and the largest of some values with a margin. */
const padded = (values) => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = 0.04 * (high - low) || 0.5;
  return [low - margin, high + margin];
};
