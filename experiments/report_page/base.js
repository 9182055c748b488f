"use strict";
// Elements, numbers, and what the reader has chosen: what the other scripts of the page share.

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
  const found = create("svg:svg", { class: "swatch", viewBox: "0 0 32 14", "aria-hidden": "true" });
  found.append(coloured(path, line));
  if (line.marker)
    found.append(coloured(create("svg:path", { class: "mark", d: line.marker, transform: "translate(16 7)" }), line));
  return found;
};

// What the reader has chosen survives a reload of a page that is renewed ----------------------------------------------

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
const superscript = (power) =>
  (power < 0 ? "⁻" : "") + [...String(Math.abs(power))].map((digit) => SUPERSCRIPTS[digit]).join("");
const english = (value, digits = 6) => value.toLocaleString("en", { maximumSignificantDigits: digits });
/** Return a number for the tick of an axis; beside a large tick, all are powers of ten from 10,000 on. */
const tickText = (value, others = [value]) => {
  if (Math.abs(value) < (Math.max(...others) < 1e5 ? 1e5 : 1e4)) return english(value);
  const power = Math.floor(Math.log10(Math.abs(value)));
  const factor = value / 10 ** power;
  return `${Math.abs(factor - 1) < 1e-9 ? "" : `${english(factor, 3)}×`}10${superscript(power)}`;
};
/** Return a value of a chart: with decimal places, or else with four significant digits. */
const valueText = (value, digits) => digits === null ? english(value, 4) : value.toFixed(digits);
/** Return round positions of at most about `most` ticks between two values, on a linear axis at least `least` apart. */
const ticks = (low, high, most, isLog, least = 0) => {
  if (isLog && high / low >= 8) {
    const places = (factors) => {
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
        for (const factor of factors) found.push(factor * 10 ** power);
      return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
    };
    const powers = places([1]);
    const step = Math.ceil(powers.length / most);
    return [[1, 2, 5], [1, 3]].map(places).find((found) => found.length <= most)
      ?? powers.filter((_, place) => place % step === 0);
  }
  const rough = Math.max((high - low) / most, least);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) || 10);
  const first = Math.ceil(low / step - 1e-9);
  const number = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  return Array.from({ length: number }, (_, place) => (first + place) * step);
};
