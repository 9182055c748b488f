// Axes: the frame, the ticks and the switches that all charts of a report share.

/** A drawing with two axes beside what is read from it. Subclasses draw into it and say what their axes are. */
class Plot {
  constructor(root, key, template, label) {
    this.key = key;
    root.append(cloned(template));
    this.root = root;
    this.plot = root.querySelector(".plot");
    this.svg = create("svg:svg", { tabindex: 0, role: "application", "aria-roledescription": "chart" });
    this.svg.setAttribute("aria-label", label);
    this.plot.append(this.svg);
  }

  /** The smallest distance between ticks of the horizontal axis. */
  get leastX() { return 0; }
  get isLogX() { return false; }
  get isLogY() { return false; }

  /** Begin to draw, now and whenever the width changes. */
  start() {
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.draw();
  }

  addSwitch(name, values, choose) {
    const group = part(this.root, name);
    for (const [value, text] of values) {
      const input = create("input", { type: "radio", name: `${this.key}-${name}`, value });
      input.addEventListener("change", () => { choose(value); this.changed(); });
      group.append(create("label", {}, input, text));
    }
  }

  /** Check the buttons of a switch that belong to a value. */
  showSwitch(name, value) {
    for (const input of part(this.root, name).querySelectorAll("input")) input.checked = input.value === value;
  }

  /** Read values under the pointer and with the arrow keys: `point`, `step` and `moveTo` of the subclass. */
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

  /** Place the axes in the available width, and replace everything by an empty grid. */
  drawAxes([x0, x1], [y0, y1], horizontal, vertical) {
    const width = Math.max(280, Math.round(this.plot.clientWidth));
    const height = Math.round(Math.min(460, Math.max(280, 0.62 * width)));
    const box = { left: 52, right: width - 12, top: 28, bottom: height - 44 };
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
    this.svg.replaceChildren(...this.grid([x0, x1], [y0, y1], width, horizontal, vertical));
  }

  /** Return where the pointer is, in pixels of the drawing. */
  pixels(event) {
    const frame = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / frame.width;
    return [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
  }

  grid([x0, x1], [y0, y1], width, horizontal, vertical) {
    const { left, right, top, bottom } = this.box;
    const frame = { class: "frame", x: left, y: top, width: right - left, height: bottom - top };
    const found = [create("svg:rect", frame)];
    const few = width < 460 ? 4 : 7;
    const most = this.isLogX && x1 / x0 >= 8 ? Math.floor(width / 60) : few;
    const along = ticks(x0, x1, most, this.isLogX, this.leastX);
    for (const value of along) {
      const x = this.x(value);
      found.push(create("svg:path", { class: "grid", d: `M${x} ${top}V${bottom}` }));
      found.push(create("svg:text", { x, y: bottom + 17, "text-anchor": "middle" }, tickText(value, along)));
    }
    for (const value of ticks(y0, y1, 6, this.isLogY)) {
      const y = this.y(value);
      found.push(create("svg:path", { class: "grid", d: `M${left} ${y}H${right}` }));
      found.push(create("svg:text", { x: left - 7, y: y + 4, "text-anchor": "end" }, tickText(value)));
    }
    found.push(create("svg:text", { class: "title", x: left, y: 15 }, vertical));
    const middle = { class: "title", x: (left + right) / 2, y: bottom + 37, "text-anchor": "middle" };
    found.push(create("svg:text", middle, horizontal));
    return found;
  }
}
