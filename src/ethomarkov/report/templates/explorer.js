"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const make = (tag, text, kind) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (kind) e.className = kind;
    return e;
  };
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

  // ---- data: arrays come as base64, columns as whole numbers between limits
  const TYPES = { i2: Int16Array, i4: Int32Array, u2: Uint16Array, f4: Float32Array };
  const MISSING = 65535;
  const unpack = packed => {
    const text = atob(packed.data),
      bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new TYPES[packed.type](bytes.buffer);
  };
  const restore = packed => {
    const codes = unpack(packed.codes),
      { low, step } = packed,
      n = low.length,
      out = new Float32Array(codes.length);
    for (let i = 0, c = 0; i < codes.length; i++) {
      out[i] = codes[i] === MISSING ? NaN : low[c] + step[c] * codes[i];
      if (++c === n) c = 0;
    }
    return out;
  };
  const D = JSON.parse($("explorer-data").textContent);
  $("explorer-data").remove();
  const labels = unpack(D.labels),
    nFrames = labels.length,
    nModes = D.postures.low.length;
  const dots = restore(D.frames),
    centers = unpack(D.centers),
    postures = restore(D.postures);
  const path = D.path && restore(D.path),
    sequences = unpack(D.sequences),
    share = unpack(D.share);
  const first = unpack(D.chain.first),
    next = unpack(D.chain.next),
    probability = unpack(D.chain.probability);
  const levels = D.levels.map(level => ({ ...level, states: unpack(level.states) }));
  const quantities = D.quantities.map(one => ({ ...one, values: unpack(one.values) }));
  const nStates = share.length,
    nAnimals = D.animals.length,
    K = D.delays,
    LEAD = (K - 1) >> 1,
    { rate, offsets } = D;
  const longest = Math.max(1, ...D.animals.map((_, i) => offsets[i + 1] - offsets[i])) / rate;
  const animalOf = frame => {
    let i = 0;
    while (i < nAnimals - 1 && frame >= offsets[i + 1]) i++;
    return i;
  };

  // Frames of every microstate, and the gap-free run of postures around every frame.
  const rowsFirst = new Int32Array(nStates + 1),
    runFirst = new Int32Array(nFrames),
    runLast = new Int32Array(nFrames);
  for (let i = 0; i < nFrames; i++) if (labels[i] >= 0) rowsFirst[labels[i] + 1]++;
  for (let k = 0; k < nStates; k++) rowsFirst[k + 1] += rowsFirst[k];
  const rows = new Int32Array(rowsFirst[nStates]),
    filled = rowsFirst.slice();
  for (let i = 0; i < nFrames; i++) if (labels[i] >= 0) rows[filled[labels[i]]++] = i;
  for (let a = 0; a < nAnimals; a++) {
    for (let i = offsets[a]; i < offsets[a + 1]; i++)
      runFirst[i] = i > offsets[a] && !isNaN(postures[(i - 1) * nModes]) ? runFirst[i - 1] : i;
    for (let i = offsets[a + 1] - 1; i >= offsets[a]; i--)
      runLast[i] = i < offsets[a + 1] - 1 && !isNaN(postures[(i + 1) * nModes]) ? runLast[i + 1] : i;
  }
  const visits = k => rowsFirst[k + 1] - rowsFirst[k];

  // Dots in random order: what lies on top at a crowded place is then no particular animal.
  const dotX = new Float32Array(rows.length),
    dotY = new Float32Array(rows.length),
    dotLabel = new Int32Array(rows.length);
  {
    const order = rows.slice();
    let seed = 1;
    for (let i = order.length - 1; i > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = Math.floor((seed / 4294967296) * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    order.forEach((row, i) => {
      dotX[i] = dots[2 * row];
      dotY[i] = dots[2 * row + 1];
      dotLabel[i] = labels[row];
    });
  }

  // ---- what is chosen
  const now = {
    level: Math.min(1, levels.length - 1),
    quantity: -1,
    state: -1,
    hover: -1,
    frame: -1,
    animal: 0,
    from: 0,
    to: longest,
    recorded: false,
    window: -1,
  };
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let playing = !calm,
    replaying = false,
    simulation = null;

  // ---- colours: one per microstate, for all views
  const palette = new Uint32Array(nStates);
  const isDark = () => document.documentElement.classList.contains("dark");
  const parse = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
  const shade = hex => {
    // dark colours vanish on a dark page
    const [r, g, b] = parse(hex);
    return isDark() && 0.21 * r + 0.72 * g + 0.07 * b < 70 ? [r, g, b].map(v => Math.round(0.5 * v + 128)) : [r, g, b];
  };
  const css = rgb => `rgb(${rgb.join(",")})`;
  const toInt = rgb => ((255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
  const css32 = c => `rgb(${c & 255},${(c >> 8) & 255},${(c >> 16) & 255})`;
  const GREY = [187, 187, 187];
  const inkOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let ink = {};
  const mixColours = () => {
    ink = {
      ink: inkOf("--ink"),
      soft: inkOf("--soft"),
      line: inkOf("--line"),
      accent: inkOf("--accent"),
      page: inkOf("--page"),
      panel: inkOf("--panel"),
    };
    const grey = toInt(GREY);
    if (now.quantity < 0) {
      const { states, colours } = levels[now.level],
        shades = colours.map(hex => toInt(shade(hex)));
      for (let k = 0; k < nStates; k++) palette[k] = states[k] < 0 ? grey : shades[states[k]];
      return;
    }
    const { values, limits, scale } = quantities[now.quantity],
      shades = D.scales[scale].map(hex => toInt(shade(hex)));
    for (let k = 0; k < nStates; k++) {
      const at = (values[k] - limits[0]) / (limits[1] - limits[0] || 1);
      palette[k] = isNaN(at) ? grey : shades[Math.round(clamp(at, 0, 1) * (shades.length - 1))];
    }
  };

  // ---- drawing happens once per screen refresh, and only of what changed
  const dirty = new Set();
  let asked = false;
  const PAINT = {};
  const flush = () => {
    asked = false;
    const list = [...dirty];
    dirty.clear();
    for (const name of list) PAINT[name]();
  };
  const paint = (...names) => {
    names.forEach(name => dirty.add(name));
    if (!asked) {
      asked = true;
      requestAnimationFrame(flush);
    }
  };
  const fitCanvas = canvas => {
    const ratio = Math.min(devicePixelRatio || 1, 2),
      box = canvas.getBoundingClientRect();
    const w = Math.max(1, Math.round(box.width * ratio)),
      h = Math.max(1, Math.round(box.height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    return ratio;
  };
  const clean = canvas => {
    const ratio = fitCanvas(canvas),
      pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    return [pen, ratio];
  };

  /** From places to pixels, with zoom and the centre that is looked at; one scale for both axes. */
  class View {
    constructor(canvas) {
      this.canvas = canvas;
      this.setBounds(0, 1, 0, 1);
    }
    setBounds(x0, x1, y0, y1) {
      this.bounds = [x0, x1, y0, y1];
      this.reset();
    }
    reset() {
      const [x0, x1, y0, y1] = this.bounds;
      this.zoom = 1;
      this.cx = (x0 + x1) / 2;
      this.cy = (y0 + y1) / 2;
    }
    get scale() {
      const [x0, x1, y0, y1] = this.bounds;
      return 0.92 * this.zoom * Math.min(this.canvas.width / (x1 - x0 || 1), this.canvas.height / (y1 - y0 || 1));
    }
    x(v) {
      return this.canvas.width / 2 + (v - this.cx) * this.scale;
    }
    y(v) {
      return this.canvas.height / 2 - (v - this.cy) * this.scale;
    }
    zoomBy(factor, px = this.canvas.width / 2, py = this.canvas.height / 2) {
      const before = this.scale;
      this.zoom = clamp(this.zoom * factor, 1, 200);
      const s = this.scale;
      this.cx += (px - this.canvas.width / 2) * (1 / before - 1 / s);
      this.cy -= (py - this.canvas.height / 2) * (1 / before - 1 / s);
      if (this.zoom === 1) this.reset();
    }
    pan(dx, dy) {
      if (this.zoom > 1) {
        this.cx -= dx / this.scale;
        this.cy += dy / this.scale;
      }
    }
  }
  const limitsOf = (xy, from, to) => {
    let x0 = Infinity,
      x1 = -Infinity,
      y0 = Infinity,
      y1 = -Infinity;
    for (let i = from; i < to; i++) {
      const x = xy[2 * i],
        y = xy[2 * i + 1];
      if (isNaN(x)) continue;
      if (x < x0) x0 = x;
      if (x > x1) x1 = x;
      if (y < y0) y0 = y;
      if (y > y1) y1 = y;
    }
    return x0 <= x1 ? [x0, x1, y0, y1] : [0, 1, 0, 1];
  };

  /** Wheel, drag and click of a canvas, in its own pixels. */
  const navigate = (canvas, { zoom, pan, click, hover, leave }) => {
    const place = event => {
      const box = canvas.getBoundingClientRect(),
        s = canvas.width / box.width;
      return [(event.clientX - box.left) * s, (event.clientY - box.top) * s];
    };
    let down = null,
      moved = false;
    canvas.addEventListener(
      "wheel",
      event => {
        event.preventDefault();
        zoom(Math.exp(-clamp(event.deltaY, -200, 200) * 0.002), ...place(event));
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", event => {
      down = place(event);
      moved = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      const at = place(event);
      if (!down) {
        hover?.(...at);
        return;
      }
      if (moved || Math.hypot(at[0] - down[0], at[1] - down[1]) > 6) {
        moved = true;
        pan(at[0] - down[0], at[1] - down[1]);
        down = at;
      }
    });
    canvas.addEventListener("pointerup", event => {
      if (down && !moved) click?.(...place(event));
      down = null;
    });
    canvas.addEventListener("pointercancel", () => {
      down = null;
    });
    canvas.addEventListener("pointerleave", () => {
      if (!down) leave?.();
    });
  };
  const pixels = {};
  const imageOf = (name, pen, w, h) => {
    // one buffer per view, kept between drawings
    const kept = pixels[name];
    if (kept && kept.image.width === w && kept.image.height === h) {
      kept.buffer.fill(0);
      return kept;
    }
    const image = pen.createImageData(w, h);
    return (pixels[name] = { image, buffer: new Uint32Array(image.data.buffer) });
  };

  // ---- map
  const mapView = new View($("map"));
  mapView.setBounds(...limitsOf(centers, 0, nStates));
  {
    const a = mapView.bounds,
      b = limitsOf(dots, 0, nFrames);
    if (rows.length)
      mapView.setBounds(Math.min(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.max(a[3], b[3]));
  }
  const radius = (k, ratio) =>
    ratio *
    (1.2 + 2.2 * Math.min(1, Math.sqrt(((share[k] || 0) * nStates) / 4))) *
    Math.sqrt(Math.sqrt(mapView.zoom)) *
    clamp(Math.sqrt(1000 / nStates), 0.6, 1.8);
  const stampDisc = (buffer, w, h, cx, cy, r, rim, colour) => {
    // a thousand discs at once are faster by hand
    const reach = r + rim;
    for (let y = Math.max(0, Math.ceil(cy - reach)); y <= cy + reach && y < h; y++)
      for (let x = Math.max(0, Math.ceil(cx - reach)); x <= cx + reach && x < w; x++) {
        const d = (x - cx) ** 2 + (y - cy) ** 2;
        if (d <= reach * reach) buffer[y * w + x] = d <= r * r ? colour : 0xffffffff;
      }
  };
  PAINT.map = () => {
    const canvas = $("map"),
      [pen, ratio] = clean(canvas),
      w = canvas.width,
      h = canvas.height;
    const { image, buffer } = imageOf("map", pen, w, h),
      s = mapView.scale,
      ox = mapView.x(0),
      oy = mapView.y(0);
    const size = clamp(
      Math.round(Math.sqrt((0.35 * w * h * Math.sqrt(mapView.zoom)) / Math.max(1, dotX.length))),
      ratio > 1 ? 2 : 1,
      3 * ratio,
    );
    for (let i = 0; i < dotX.length; i++) {
      const x = (ox + dotX[i] * s) | 0,
        y = (oy - dotY[i] * s) | 0;
      if (x < 0 || y < 0 || x >= w - size || y >= h - size) continue;
      const colour = palette[dotLabel[i]];
      let at = y * w + x;
      if (size === 1) {
        buffer[at] = colour;
        continue;
      }
      for (let b = 0; b < size; b++, at += w) for (let a = 0; a < size; a++) buffer[at + a] = colour;
    }
    for (let k = 0; k < nStates; k++)
      stampDisc(
        buffer,
        w,
        h,
        mapView.x(centers[2 * k]),
        mapView.y(centers[2 * k + 1]),
        radius(k, ratio),
        ratio,
        palette[k],
      );
    pen.putImageData(image, 0, 0);
    $("map-over").classList.toggle("zoomed", mapView.zoom > 1);
  };
  const shownState = () => (now.hover >= 0 ? now.hover : now.state);
  const successors = (k, n = 5) => {
    const list = [];
    for (let e = first[k]; e < first[k + 1]; e++) list.push([next[e], probability[e]]);
    return list.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, n);
  };
  const label = (pen, text, x, y, ratio) => {
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    pen.lineWidth = 3.5 * ratio;
    pen.lineJoin = "round";
    pen.strokeStyle = ink.panel;
    pen.fillStyle = ink.ink;
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
  };
  const drawLinks = (pen, ratio, k) => {
    const x0 = mapView.x(centers[2 * k]),
      y0 = mapView.y(centers[2 * k + 1]),
      list = successors(k),
      most = list.length ? list[0][1] : 1,
      words = [];
    pen.lineCap = "round";
    for (const [j, p] of list) {
      const x1 = mapView.x(centers[2 * j]),
        y1 = mapView.y(centers[2 * j + 1]),
        length = Math.hypot(x1 - x0, y1 - y0);
      const text = `${(100 * p).toFixed(p < 0.1 ? 1 : 0)} %`;
      if (j === k) {
        words.push([text, x0 + 9 * ratio, y0 + 15 * ratio]);
        continue;
      }
      const bendX = (x0 + x1) / 2 - (y1 - y0) * 0.15,
        bendY = (y0 + y1) / 2 + (x1 - x0) * 0.15,
        width = ratio * (1 + (3 * p) / most);
      for (const [colour, extra] of [
        [ink.panel, 2.5 * ratio],
        [ink.ink, 0],
      ]) {
        pen.strokeStyle = colour;
        pen.lineWidth = width + extra;
        pen.beginPath();
        pen.moveTo(x0, y0);
        pen.quadraticCurveTo(bendX, bendY, x1, y1);
        pen.stroke();
      }
      const angle = Math.atan2(y1 - bendY, x1 - bendX),
        size = Math.min(length / 2, 5 * ratio + width);
      pen.fillStyle = ink.ink;
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.lineTo(x1 - size * Math.cos(angle - 0.45), y1 - size * Math.sin(angle - 0.45));
      pen.lineTo(x1 - size * Math.cos(angle + 0.45), y1 - size * Math.sin(angle + 0.45));
      pen.fill();
      words.push([text, x1 + 6 * ratio, y1 - 5 * ratio]);
    }
    const placed = []; // later labels move down until they are readable
    for (const [text, x, y] of words) {
      let at = y;
      while (placed.some(([px, py]) => Math.abs(px - x) < 42 * ratio && Math.abs(py - at) < 12 * ratio))
        at += 3 * ratio;
      placed.push([x, at]);
      label(pen, text, Math.min(x, pen.canvas.width - 40 * ratio), at, ratio);
    }
  };
  PAINT.mapOver = () => {
    const canvas = $("map-over"),
      [pen, ratio] = clean(canvas),
      k = shownState();
    if (k >= 0 && !simulation?.running) {
      const w = canvas.width,
        h = canvas.height;
      pen.fillStyle = ink.ink;
      for (let r = rowsFirst[k]; r < rowsFirst[k + 1]; r++) {
        const x = mapView.x(dots[2 * rows[r]]),
          y = mapView.y(dots[2 * rows[r] + 1]);
        if (x > 0 && y > 0 && x < w && y < h) pen.fillRect(x - ratio / 2, y - ratio / 2, 1.4 * ratio, 1.4 * ratio);
      }
      drawLinks(pen, ratio, k);
    }
    if (simulation) drawTrail(pen, ratio);
    if (k >= 0)
      ring(
        pen,
        mapView.x(centers[2 * k]),
        mapView.y(centers[2 * k + 1]),
        radius(k, ratio) + 3.5 * ratio,
        ratio,
        css32(palette[k]),
      );
    if (now.frame >= 0 && !isNaN(dots[2 * now.frame]))
      cross(pen, mapView.x(dots[2 * now.frame]), mapView.y(dots[2 * now.frame + 1]), ratio);
  };
  const ring = (pen, x, y, r, ratio, fill) => {
    pen.beginPath();
    pen.arc(x, y, r, 0, 7);
    if (fill) {
      pen.fillStyle = fill;
      pen.fill();
    }
    for (const [colour, width] of [
      [ink.page, 4],
      [ink.ink, 2],
    ]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width * ratio;
      pen.stroke();
    }
  };
  const cross = (pen, x, y, ratio) => {
    for (const [colour, width] of [
      [ink.page, 5],
      [ink.accent, 2.4],
    ]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width * ratio;
      pen.lineCap = "butt";
      pen.beginPath();
      for (const [a, b] of [
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
      ]) {
        pen.moveTo(x + 4 * a * ratio, y + 4 * b * ratio);
        pen.lineTo(x + 13 * a * ratio, y + 13 * b * ratio);
      }
      pen.stroke();
    }
  };
  const drawTrail = (pen, ratio) => {
    const trail = simulation.visited.slice(-12);
    pen.lineCap = "round";
    pen.strokeStyle = ink.ink;
    for (let i = 1; i < trail.length; i++) {
      const a = trail[i - 1],
        b = trail[i];
      pen.globalAlpha = i / trail.length;
      pen.lineWidth = 2 * ratio;
      pen.beginPath();
      pen.moveTo(mapView.x(centers[2 * a]), mapView.y(centers[2 * a + 1]));
      pen.lineTo(mapView.x(centers[2 * b]), mapView.y(centers[2 * b + 1]));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  };
  const nearest = (px, py, reach) => {
    let best = -1,
      least = reach * reach;
    for (let k = 0; k < nStates; k++) {
      const d = (mapView.x(centers[2 * k]) - px) ** 2 + (mapView.y(centers[2 * k + 1]) - py) ** 2;
      if (d < least) {
        least = d;
        best = k;
      }
    }
    return best;
  };
  const neighbour = (dx, dy) => {
    // the closest microstate within 45 degrees of a direction
    if (now.state < 0) return mostVisited();
    const x0 = centers[2 * now.state],
      y0 = centers[2 * now.state + 1];
    let best = -1,
      least = Infinity;
    for (let k = 0; k < nStates; k++) {
      const x = centers[2 * k] - x0,
        y = centers[2 * k + 1] - y0,
        along = x * dx + y * dy,
        across = Math.abs(x * dy - y * dx);
      if (along > 0 && across <= along && along + across < least) {
        least = along + across;
        best = k;
      }
    }
    return best < 0 ? now.state : best;
  };
  const mostVisited = () => {
    let best = 0;
    for (let k = 1; k < nStates; k++) if ((share[k] || 0) > (share[best] || 0)) best = k;
    return best;
  };

  // ---- choosing
  const stateName = k => {
    const { states, names } = levels[now.level];
    return states[k] < 0 ? "no state" : names[states[k]];
  };
  const percent = p => (p >= 0.0995 ? `${(100 * p).toFixed(0)} %` : `${(100 * p).toFixed(p < 0.00995 ? 2 : 1)} %`);
  const hover = k => {
    if (k === now.hover) return;
    now.hover = k;
    clockStart = performance.now();
    now.window = -1;
    describe();
    paint("mapOver", "body");
  };
  const select = (k, frame = -1, { quiet = false } = {}) => {
    if (k !== now.state || frame < 0) {
      now.window = -1;
      clockStart = performance.now();
    }
    now.state = k;
    now.hover = -1;
    now.frame = frame;
    if (frame >= 0 && animalOf(frame) !== now.animal) {
      now.animal = animalOf(frame);
      fitPath();
    }
    describe();
    if (!quiet && k >= 0)
      $("said").textContent =
        `Microstate ${k}, ${stateName(k)}, ${percent(share[k] || 0)} of the time. ` +
        (successors(k, 1).length ? `Most likely next: ${successors(k, 1)[0][0]}.` : "");
    paint("mapOver", "timeOver", "pathOver", "body");
  };
  const selectFrame = (frame, options) => select(labels[frame], frame, options);
  const fact = (term, value) => {
    $("facts").append(make("dt", term), make("dd", value));
  };
  const clockText = frame =>
    `${D.animals[animalOf(frame)]}, ${((frame - offsets[animalOf(frame)]) / rate).toFixed(2)} s`;
  const describe = () => {
    const k = shownState();
    $("clock").textContent = now.frame >= 0 ? clockText(now.frame) : (D.animals[now.animal] ?? "");
    $("facts").replaceChildren();
    $("successors").replaceChildren();
    $("body-title").textContent = k >= 0 ? `Microstate ${k}` : now.frame >= 0 ? "No sequence here" : "Microstate";
    $("next-title").textContent =
      k >= 0 ? `Where it goes in ${+D.lag.toPrecision(3)} s` : "Choose a microstate on the map, or a time below.";
    if (k < 0) return;
    fact("state", stateName(k));
    fact("share of time", isNaN(share[k]) ? "not connected" : percent(share[k]));
    fact("recorded", `${visits(k).toLocaleString("en")} sequences`);
    for (const one of quantities.slice(0, 2))
      if (one.scale === "diverging" && !isNaN(one.values[k]))
        fact(one.label, `${one.values[k].toFixed(2)} ${one.unit}`);
    for (const [j, p] of successors(k)) {
      const item = make("li"),
        button = make("button"),
        swatch = make("span", undefined, "swatch");
      swatch.style.background = css32(palette[j]);
      swatch.setAttribute("aria-hidden", "true");
      button.append(
        swatch,
        make("span", j === k ? "stays" : `${j} · ${stateName(j)}`, "name"),
        make("span", percent(p), "percent"),
      );
      button.addEventListener("click", () => select(j));
      item.append(button);
      $("successors").append(item);
    }
  };

  // ---- the body
  const body = D.body,
    hasAngles = body.kind === "angle",
    hasBody = body.kind !== "amplitude";
  const bodyMean = hasBody ? unpack(body.mean) : null,
    bodyModes = hasBody ? unpack(body.modes) : null,
    nBody = hasBody ? bodyMean.length : 0;
  const shapeOf = (amplitudes, at = 0) => {
    // tangent angles or keypoint coordinates
    const out = new Float64Array(nBody);
    for (let s = 0; s < nBody; s++) {
      let v = bodyMean[s];
      for (let m = 0; m < nModes; m++) v += amplitudes[at + m] * bodyModes[m * nBody + s];
      out[s] = v;
    }
    return out;
  };
  const pointsOf = (shape, heading = 0, cx = 0, cy = 0) => {
    // outline of the body with its centroid at a place
    if (!hasAngles) return Array.from({ length: nBody / 2 }, (_, i) => [shape[2 * i], shape[2 * i + 1]]);
    const points = [[0, 0]],
      ell = 1 / nBody;
    let mx = 0,
      my = 0;
    for (let s = 0; s < nBody; s++) {
      const [x, y] = points[s],
        dx = ell * Math.cos(shape[s] + heading),
        dy = ell * Math.sin(shape[s] + heading);
      mx += (x + dx / 2) / nBody;
      my += (y + dy / 2) / nBody;
      points.push([x + dx, y + dy]);
    }
    return points.map(([x, y]) => [x - mx + cx, y - my + cy]);
  };
  const drawBody = (pen, points, toX, toY, scale, colour, ratio, thin = 1) => {
    const n = points.length - 1;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineCap = pen.lineJoin = "round";
    for (let i = 0; i < n; i++) {
      const s = (i + 0.5) / n;
      pen.lineWidth = hasAngles
        ? Math.max(1.2 * ratio, thin * 0.085 * scale * Math.sqrt(Math.sqrt(4 * s * (1 - s))))
        : 2.5 * ratio;
      pen.beginPath();
      pen.moveTo(toX(points[i][0]), toY(points[i][1]));
      pen.lineTo(toX(points[i + 1][0]), toY(points[i + 1][1]));
      pen.stroke();
    }
    if (!hasAngles)
      for (const [x, y] of points) {
        pen.beginPath();
        pen.arc(toX(x), toY(y), 4 * ratio, 0, 7);
        pen.fill();
      }
  };
  const drawHead = (pen, point, toX, toY, size) => {
    pen.fillStyle = ink.accent;
    pen.beginPath();
    pen.arc(toX(point[0]), toY(point[1]), size, 0, 7);
    pen.fill();
  };
  let clockStart = performance.now(),
    phase = 0;
  const HOLD = 0.5; // seconds on the last frame before a sequence begins again
  const recordedWindow = k => {
    if (now.frame >= 0 && now.hover < 0 && labels[now.frame] === k) return now.frame - LEAD;
    if (now.window < 0 && visits(k)) now.window = rows[rowsFirst[k] + Math.floor(Math.random() * visits(k))];
    return now.window < 0 ? -1 : now.window - LEAD;
  };
  const sequenceOf = k => {
    const start = now.recorded ? recordedWindow(k) : -1;
    $("window").textContent =
      now.recorded && start >= 0 ? clockText(start + LEAD) : now.recorded ? "none recorded" : "of all its sequences";
    return start >= 0
      ? postures.subarray(start * nModes, (start + K) * nModes)
      : sequences.subarray(k * K * nModes, (k + 1) * K * nModes);
  };
  const liveFrame = () =>
    simulation?.running
      ? simulation.amplitudes
      : replaying && now.frame >= 0 && !isNaN(postures[now.frame * nModes])
        ? postures.subarray(now.frame * nModes, (now.frame + 1) * nModes)
        : null;
  PAINT.body = () => {
    const canvas = $("body"),
      [pen, ratio] = clean(canvas),
      w = canvas.width,
      h = canvas.height,
      live = liveFrame(),
      k = shownState();
    $("window").textContent = "";
    if (!live && k < 0) return;
    const sequence = live ?? sequenceOf(k),
      n = sequence.length / nModes,
      at = live ? 0 : clamp(Math.floor(phase), 0, n - 1),
      colour = k >= 0 ? css32(palette[k]) : ink.soft;
    if (!hasBody) {
      drawAmplitudes(pen, sequence, n, at, w, h, ratio);
      return;
    }
    let scale = 0.86 * Math.min(w, h * 1.6),
      toX = x => w / 2 + x * scale,
      toY = y => h / 2 - y * scale;
    if (!hasAngles) {
      let [x0, x1, y0, y1] = limitsOf(
        Float32Array.from(Array.from({ length: n }, (_, f) => pointsOf(shapeOf(sequence, f * nModes))).flat(2)),
        0,
        (n * nBody) / 2,
      );
      scale = 0.8 * Math.min(w / (x1 - x0 || 1), h / (y1 - y0 || 1));
      toX = x => w / 2 + (x - (x0 + x1) / 2) * scale;
      toY = y => h / 2 - (y - (y0 + y1) / 2) * scale;
    }
    for (let back = Math.min(3, at); back >= 1; back--) {
      pen.globalAlpha = 0.22 / back;
      drawBody(pen, pointsOf(shapeOf(sequence, (at - back) * nModes)), toX, toY, scale, ink.soft, ratio, 0.6);
    }
    pen.globalAlpha = 1;
    const points = pointsOf(shapeOf(sequence, at * nModes));
    drawBody(pen, points, toX, toY, scale, ink.ink, ratio, 1.25);
    drawBody(pen, points, toX, toY, scale, colour, ratio, 0.95);
    drawHead(pen, points[0], toX, toY, Math.max(3 * ratio, 0.03 * scale * (hasAngles ? 1 : 0)));
    if (!live) {
      pen.fillStyle = ink.line;
      pen.fillRect(0.1 * w, h - 5 * ratio, 0.8 * w, 3 * ratio);
      pen.fillStyle = ink.accent;
      pen.fillRect(0.1 * w, h - 5 * ratio, (0.8 * w * (at + 1)) / n, 3 * ratio);
    }
    label(
      pen,
      live ? (simulation?.running ? "simulated" : "recorded") : `${(at / rate).toFixed(2)} s`,
      6 * ratio,
      14 * ratio,
      ratio,
    );
  };
  const drawAmplitudes = (pen, sequence, n, at, w, h, ratio) => {
    let most = 1e-9;
    for (const v of sequences) if (Math.abs(v) > most) most = Math.abs(v);
    const bar = (0.8 * w) / nModes;
    pen.fillStyle = ink.line;
    pen.fillRect(0.1 * w, h / 2, 0.8 * w, ratio);
    for (let m = 0; m < nModes; m++) {
      const v = (sequence[at * nModes + m] / most) * 0.42 * h;
      pen.fillStyle = ink.accent;
      pen.fillRect(0.1 * w + (m + 0.2) * bar, Math.min(h / 2, h / 2 - v), 0.6 * bar, Math.abs(v));
    }
    label(pen, n > 1 ? `modes, ${(at / rate).toFixed(2)} s` : "modes", 6 * ratio, 14 * ratio, ratio);
  };

  // ---- path
  const pathView = new View($("path"));
  let fittedSize = 0;
  const fitPath = () => {
    if (path) pathView.setBounds(...limitsOf(path, offsets[now.animal], offsets[now.animal + 1]));
    fittedSize = 0;
    paint("path");
  };
  const rasterPath = (pen, name, xy, count, offset, colourAt) => {
    const canvas = pathView.canvas,
      w = canvas.width,
      h = canvas.height,
      { image, buffer } = imageOf(name, pen, w, h),
      ratio = Math.min(devicePixelRatio || 1, 2);
    const s = pathView.scale,
      ox = pathView.x(0),
      oy = pathView.y(0),
      size = Math.round(2 * ratio);
    let lx = NaN,
      ly = NaN;
    for (let i = 0; i < count; i++) {
      const x = ox + xy[2 * (offset + i)] * s,
        y = oy - xy[2 * (offset + i) + 1] * s;
      if (isNaN(x)) {
        lx = NaN;
        continue;
      }
      const colour = colourAt(offset + i),
        far = isNaN(lx) ? 0 : Math.max(Math.abs(x - lx), Math.abs(y - ly));
      const n = far > 1 ? Math.min(Math.ceil(far), 3000) : 1;
      for (let j = 1; j <= n; j++) {
        const px = (n === 1 ? x : lx + ((x - lx) * j) / n) | 0,
          py = (n === 1 ? y : ly + ((y - ly) * j) / n) | 0;
        if (px < 0 || py < 0 || px >= w - size || py >= h - size) continue;
        let at = py * w + px;
        for (let b = 0; b < size; b++, at += w) for (let a = 0; a < size; a++) buffer[at + a] = colour;
      }
      lx = x;
      ly = y;
    }
    pen.putImageData(image, 0, 0);
  };
  const faint = colour => ((colour & 0xffffff) | (0x60 << 24)) >>> 0,
    greyInt = toInt(GREY);
  PAINT.path = () => {
    const canvas = $("path"),
      [pen, ratio] = clean(canvas);
    $("path-title").textContent = simulation
      ? "Simulated path"
      : path
        ? `Path of ${D.animals[now.animal]}${D.pathIsMeasured ? "" : ", computed"}`
        : "Path";
    if (simulation) {
      rasterPath(pen, "path", simulation.trail, simulation.length, 0, i => palette[simulation.trailState[i]]);
    } else if (path) {
      const start = offsets[now.animal],
        a = start + now.from * rate,
        b = start + now.to * rate;
      rasterPath(pen, "path", path, offsets[now.animal + 1] - start, start, i => {
        const c = labels[i] < 0 ? greyInt : palette[labels[i]];
        return i < a || i > b ? faint(c) : c;
      });
    } else label(pen, "no path was recorded, and the postures give none", 8 * ratio, 20 * ratio, ratio);
    if (simulation ? hasAngles : path) scaleBar(pen, canvas, ratio, simulation ? "body lengths" : D.pathUnit);
    $("path-over").classList.toggle("zoomed", pathView.zoom > 1);
    PAINT.pathOver();
    dirty.delete("pathOver");
  };
  const scaleBar = (pen, canvas, ratio, unit) => {
    const rough = (0.25 * canvas.width) / pathView.scale,
      power = 10 ** Math.floor(Math.log10(rough)),
      length = power * (rough / power >= 5 ? 5 : rough / power >= 2 ? 2 : 1);
    const y = canvas.height - 8 * ratio,
      x = 8 * ratio;
    pen.fillStyle = ink.ink;
    pen.fillRect(x, y, length * pathView.scale, 2 * ratio);
    label(
      pen,
      `${+length.toPrecision(2)} ${length === 1 ? unit.replace(/lengths$/, "length") : unit}`,
      x,
      y - 5 * ratio,
      ratio,
    );
  };
  PAINT.pathOver = () => {
    const [pen, ratio] = clean($("path-over")),
      toX = x => pathView.x(x),
      toY = y => pathView.y(y);
    if (simulation) {
      const points = pointsOf(simulation.shape, simulation.heading, simulation.x, simulation.y);
      if (hasAngles) {
        drawBody(pen, points, toX, toY, pathView.scale, ink.ink, ratio);
        drawHead(pen, points[0], toX, toY, Math.max(2.5 * ratio, 0.035 * pathView.scale));
      }
      label(
        pen,
        `${(simulation.length / rate).toFixed(0)} s · ${stateName(simulation.state)}`,
        8 * ratio,
        16 * ratio,
        ratio,
      );
    } else if (path && now.frame >= 0 && !isNaN(path[2 * now.frame]))
      cross(pen, toX(path[2 * now.frame]), toY(path[2 * now.frame + 1]), ratio);
  };
  const nearestOnPath = (px, py) => {
    let best = -1,
      least = Infinity;
    const start = offsets[now.animal] + Math.floor(now.from * rate),
      stop = Math.min(offsets[now.animal + 1], offsets[now.animal] + Math.ceil(now.to * rate));
    for (let i = start; i < stop; i++) {
      const d = (pathView.x(path[2 * i]) - px) ** 2 + (pathView.y(path[2 * i + 1]) - py) ** 2;
      if (d < least) {
        least = d;
        best = i;
      }
    }
    return best;
  };

  // ---- resistive force theory: the rigid step with zero force and torque, geometry half-way between two postures
  const propel = (before, after, alpha) => {
    const n = before.length,
      ell = 1 / n,
      tx = new Float64Array(n),
      ty = new Float64Array(n),
      px = new Float64Array(n),
      py = new Float64Array(n),
      ux = new Float64Array(n),
      uy = new Float64Array(n);
    let x = 0,
      y = 0,
      u = 0,
      v = 0,
      mx = 0,
      my = 0,
      mu = 0,
      mv = 0;
    for (let k = 0; k < n; k++) {
      const middle = (before[k] + after[k]) / 2,
        bend = 2 * Math.sin((after[k] - before[k]) / 2);
      tx[k] = Math.cos(middle);
      ty[k] = Math.sin(middle);
      px[k] = x + (ell * tx[k]) / 2;
      py[k] = y + (ell * ty[k]) / 2;
      ux[k] = u - (bend * ell * ty[k]) / 2;
      uy[k] = v + (bend * ell * tx[k]) / 2;
      x += ell * tx[k];
      y += ell * ty[k];
      u -= bend * ell * ty[k];
      v += bend * ell * tx[k];
      mx += px[k] / n;
      my += py[k] / n;
      mu += ux[k] / n;
      mv += uy[k] / n;
    }
    let xx = 0,
      xy = 0,
      xc = 0,
      yc = 0,
      cc = 0,
      rr = 0,
      xd = 0,
      yd = 0,
      cd = 0,
      ru = 0;
    for (let k = 0; k < n; k++) {
      const rx = px[k] - mx,
        ry = py[k] - my,
        du = ux[k] - mu,
        dv = uy[k] - mv,
        c = rx * ty[k] - ry * tx[k],
        along = tx[k] * du + ty[k] * dv;
      xx += (tx[k] * tx[k]) / n;
      xy += (tx[k] * ty[k]) / n;
      xc += (tx[k] * c) / n;
      yc += (ty[k] * c) / n;
      cc += (c * c) / n;
      rr += (rx * rx + ry * ry) / n;
      xd += (tx[k] * along) / n;
      yd += (ty[k] * along) / n;
      cd += (c * along) / n;
      ru += (rx * dv - ry * du) / n;
    }
    const beta = 1 - alpha,
      a11 = alpha + beta * xx,
      a12 = beta * xy,
      a13 = beta * xc,
      a22 = alpha + beta * (1 - xx),
      a23 = beta * yc,
      a33 = alpha * rr + beta * cc;
    const b1 = -beta * xd,
      l21 = a12 / a11,
      l31 = a13 / a11,
      d2 = a22 - l21 * a12,
      l32 = (a23 - l31 * a12) / d2,
      d3 = a33 - l31 * a13 - l32 * l32 * d2;
    const b2 = -beta * yd - l21 * b1,
      turn = (-beta * cd - alpha * ru - l31 * b1 - l32 * b2) / d3,
      dy = b2 / d2 - l32 * turn;
    return [b1 / a11 - l21 * dy - l31 * turn, dy, turn];
  };

  /** A walk of the chain that follows recorded passages, each fading into the next, and crawls. */
  class Simulation {
    constructor(start) {
      this.state = start;
      this.visited = [start];
      this.running = true;
      this.x = this.y = this.heading = 0;
      this.length = 0;
      this.trail = new Float32Array(2 * 4096);
      this.trailState = new Int32Array(4096);
      this.block = D.lagFrames;
      this.half = (Math.min(K, this.block) - 1) >> 1;
      this.row = this.before = -1;
      this.amplitudes = new Float32Array(nModes);
      this.shape = new Float64Array(nBody);
      this.step();
      this.offset = 0;
    }
    draw(state) {
      // a microstate one lag later, of those with a recorded sequence in the page
      for (let attempt = 0; attempt < 50; attempt++) {
        let left = Math.random(),
          e = first[state];
        while (e < first[state + 1] - 1 && (left -= probability[e]) > 0) e++;
        if (e < first[state + 1] && visits(next[e])) return next[e];
      }
      return mostVisited();
    }
    passages(from, to) {
      const own = rows.subarray(rowsFirst[from], rowsFirst[from + 1]);
      const found = own.filter(row => row + this.block <= runLast[row] && labels[row + this.block] === to);
      return found.length ? found : own;
    }
    at(row, offset) {
      return clamp(row + offset, runFirst[row], runLast[row]) * nModes;
    }
    mismatch(row) {
      let total = 0;
      for (let o = -this.half; o <= this.half; o++) {
        const a = this.at(this.before, this.block + o),
          b = this.at(row, o);
        for (let m = 0; m < nModes; m++) total += (postures[a + m] - postures[b + m]) ** 2;
      }
      return total;
    }
    step() {
      this.before = this.row;
      const list = this.passages(this.state, this.coming ?? (this.coming = this.draw(this.state)));
      let least = Infinity;
      for (let c = 0; c < 4; c++) {
        const row = list[Math.floor(Math.random() * list.length)],
          wrong = this.before < 0 ? 0 : this.mismatch(row);
        if (wrong < least) {
          least = wrong;
          this.row = row;
        }
      }
      this.offset = -this.half;
    }
    advance() {
      if (this.offset >= this.block - this.half) {
        this.state = this.coming;
        this.visited.push(this.state);
        if (this.visited.length > 64) this.visited.shift();
        this.coming = this.draw(this.state);
        this.step();
      }
      const b = this.at(this.row, this.offset),
        fading = this.before >= 0 && this.offset <= this.half;
      const a = fading ? this.at(this.before, this.block + this.offset) : b,
        weight = fading ? 0.5 - 0.5 * Math.cos((Math.PI * (this.half + this.offset + 1)) / (2 * this.half + 2)) : 1;
      for (let m = 0; m < nModes; m++) this.amplitudes[m] = (1 - weight) * postures[a + m] + weight * postures[b + m];
      this.offset++;
      if (hasBody) {
        const shape = shapeOf(this.amplitudes);
        if (hasAngles && this.length) {
          const [dx, dy, turn] = propel(this.shape, shape, body.dragRatio),
            angle = this.heading + turn / 2;
          this.x += Math.cos(angle) * dx - Math.sin(angle) * dy;
          this.y += Math.sin(angle) * dx + Math.cos(angle) * dy;
          this.heading += turn;
        }
        this.shape = shape;
      }
      if (this.length === this.trailState.length) {
        const more = new Float32Array(4 * this.length),
          states = new Int32Array(2 * this.length);
        more.set(this.trail);
        states.set(this.trailState);
        this.trail = more;
        this.trailState = states;
      }
      this.trail[2 * this.length] = this.x;
      this.trail[2 * this.length + 1] = this.y;
      this.trailState[this.length++] = this.state;
    }
    look() {
      // widen the view in steps, so that it does not creep
      const [x0, x1, y0, y1] = limitsOf(this.trail, 0, this.length),
        reach = Math.max(x1 - x0, y1 - y0) + 1.4;
      if (
        reach > fittedSize ||
        this.x < pathView.bounds[0] + 0.5 ||
        this.x > pathView.bounds[1] - 0.5 ||
        this.y < pathView.bounds[2] + 0.5 ||
        this.y > pathView.bounds[3] - 0.5
      ) {
        fittedSize = Math.max(3, reach * 1.3);
        const cx = (x0 + x1) / 2,
          cy = (y0 + y1) / 2,
          r = fittedSize / 2,
          zoom = pathView.zoom;
        if (zoom === 1) pathView.setBounds(cx - r, cx + r, cy - r, cy + r);
      }
    }
  }
  const LONGEST_WALK = 400_000;
  const simulate = () => {
    if (simulation?.running) {
      simulation.running = false;
      setPressed("simulate", false, "Back to recording");
      paint("path", "body", "mapOver");
      return;
    }
    if (simulation) {
      simulation = null;
      setPressed("simulate", false, "Simulate");
      fitPath();
      paint("path", "mapOver", "body");
      return;
    }
    const start =
      now.state >= 0 && first[now.state + 1] > first[now.state] && visits(now.state) ? now.state : mostVisited();
    replaying = false;
    setPressed("replay", false, "Play from here");
    fittedSize = 0;
    pathView.reset();
    simulation = new Simulation(start);
    simulation.advance();
    simulation.look();
    setPressed("simulate", true, "Stop");
    select(start);
    paint("path");
  };
  const setPressed = (id, pressed, text) => {
    $(id).setAttribute("aria-pressed", pressed);
    if (text) $(id).textContent = text;
  };

  // ---- ethogram
  const MARGIN = Math.min(120, 20 + 6.5 * Math.max(0, ...D.animals.map(name => Math.min(name.length, 16)))),
    AXIS = 20;
  const rowHeight = () => clamp(Math.floor(170 / nAnimals), 12, 34);
  const timeScale = () => ($("time").clientWidth - MARGIN - 8) / (now.to - now.from);
  PAINT.time = () => {
    const canvas = $("time"),
      height = nAnimals * rowHeight() + AXIS;
    for (const one of [canvas, $("time-over")]) one.style.height = `${height}px`;
    $("time-stage").style.height = `${height}px`;
    const [pen, ratio] = clean(canvas),
      w = canvas.width,
      h = canvas.height,
      { image, buffer } = imageOf("time", pen, w, h);
    const left = Math.round(MARGIN * ratio),
      right = w - 8 * ratio,
      perPixel = ((now.to - now.from) * rate) / (right - left),
      tall = rowHeight() * ratio;
    for (let a = 0; a < nAnimals; a++) {
      const top = Math.round(a * tall) + ratio,
        bottom = Math.round((a + 1) * tall) - ratio,
        start = offsets[a],
        stop = offsets[a + 1];
      for (let x = left; x < right; x++) {
        const f0 = start + Math.floor(now.from * rate + (x - left) * perPixel),
          f1 = Math.max(f0 + 1, start + Math.floor(now.from * rate + (x + 1 - left) * perPixel));
        let r = 0,
          g = 0,
          b = 0,
          n = 0;
        for (let f = Math.max(f0, start); f < f1 && f < stop; f++)
          if (labels[f] >= 0) {
            const c = palette[labels[f]];
            r += c & 255;
            g += (c >> 8) & 255;
            b += (c >> 16) & 255;
            n++;
          }
        if (!n) continue;
        const colour = ((255 << 24) | ((b / n) << 16) | ((g / n) << 8) | (r / n)) >>> 0;
        for (let y = top; y < bottom; y++) buffer[y * w + x] = colour;
      }
    }
    pen.putImageData(image, 0, 0);
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    pen.fillStyle = ink.soft;
    pen.textAlign = "right";
    for (let a = 0; a < nAnimals; a++)
      pen.fillText(
        D.animals[a].length > 16 ? `${D.animals[a].slice(0, 15)}…` : D.animals[a],
        left - 6 * ratio,
        (a + 0.5) * tall,
        left - 8 * ratio,
      );
    const rough = (now.to - now.from) / clamp((right - left) / ratio / 75, 2, 10),
      unit =
        [0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400].find(
          s => s >= rough,
        ) ?? Math.ceil(rough / 86400) * 86400;
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    for (let t = Math.ceil(now.from / unit) * unit; t <= now.to + 1e-9; t += unit) {
      const x = left + ((t - now.from) / (now.to - now.from)) * (right - left);
      pen.fillRect(x, nAnimals * tall, ratio, 4 * ratio);
      pen.fillText(
        unit >= 60 ? `${+(t / 60).toFixed(1)} min` : `${+t.toFixed(2)} s`,
        clamp(x, left + 10 * ratio, right - 14 * ratio),
        h - 4 * ratio,
      );
    }
  };
  PAINT.timeOver = () => {
    const [pen, ratio] = clean($("time-over")),
      tall = rowHeight() * ratio,
      top = now.animal * tall,
      left = MARGIN * ratio;
    pen.strokeStyle = ink.accent;
    pen.lineWidth = 2 * ratio;
    pen.strokeRect(left - 1.5 * ratio, top + 0.5 * ratio, $("time-over").width - left - 6 * ratio, tall - ratio);
    if (now.frame < 0) return;
    const x = left + ((now.frame - offsets[now.animal]) / rate - now.from) * timeScale() * ratio;
    if (x < left - 1 || x > $("time-over").width) return;
    for (const [colour, width] of [
      [ink.page, 4],
      [ink.ink, 2],
    ]) {
      pen.fillStyle = colour;
      pen.fillRect(x - (width * ratio) / 2, top - 2 * ratio, width * ratio, tall + 4 * ratio);
    }
  };
  const setTime = (from, to) => {
    const width = clamp(to - from, Math.min(longest, 20 / rate), longest);
    now.from = clamp(from, 0, longest - width);
    now.to = now.from + width;
    paint("time", "timeOver", "path");
  };
  const zoomTime = (factor, at = now.frame >= 0 ? (now.frame - offsets[now.animal]) / rate : (now.from + now.to) / 2) =>
    setTime(at - (at - now.from) / factor, at + (now.to - at) / factor);
  const followTime = () => {
    const t = (now.frame - offsets[now.animal]) / rate,
      width = now.to - now.from;
    if (t < now.from || t > now.to) setTime(t - 0.1 * width, t + 0.9 * width);
  };
  const stepFrame = by => {
    const start = offsets[now.animal],
      stop = offsets[now.animal + 1];
    if (stop <= start) return;
    selectFrame(clamp(now.frame < 0 ? start + Math.floor(now.from * rate) : now.frame + by, start, stop - 1));
    followTime();
  };
  const setAnimal = index => {
    const at = now.frame < 0 ? 0 : now.frame - offsets[now.animal],
      animal = clamp(index, 0, nAnimals - 1);
    now.animal = animal;
    fitPath();
    if (offsets[animal + 1] > offsets[animal]) selectFrame(Math.min(offsets[animal] + at, offsets[animal + 1] - 1));
    else select(-1);
    paint("path", "timeOver");
  };

  // ---- levels and legend
  const recolour = () => {
    mixColours();
    legend();
    describe();
    $("colour").value = String(now.quantity);
    [...$("tree").children].forEach((row, i) => {
      const chosen = i === now.level && now.quantity < 0;
      row.setAttribute("aria-checked", chosen);
      row.tabIndex = i === now.level ? 0 : -1;
      [...row.lastChild.children].forEach((block, j) => {
        block.style.background = css(shade(levels[i].colours[j]));
      });
    });
    paint("map", "mapOver", "time", "timeOver", "path", "body");
  };
  const setLevel = index => {
    now.level = clamp(index, 0, levels.length - 1);
    now.quantity = -1;
    recolour();
    $("said").textContent = `${levels[now.level].names.length} states: ${levels[now.level].names.join(", ")}`;
  };
  const growTree = () =>
    levels.forEach((level, i) => {
      const row = make("div", undefined, "level"),
        blocks = make("span", undefined, "blocks");
      row.setAttribute("role", "radio");
      row.setAttribute("aria-label", `${level.names.length} states: ${level.names.join(", ")}`);
      level.names.forEach((name, j) => {
        const block = make("span");
        block.title = `${name}, ${percent(level.shares[j])} of the time`;
        block.style.flex = `${level.shares[j]} 1 0`;
        blocks.append(block);
      });
      row.append(make("span", level.names.length, "count"), blocks);
      row.addEventListener("click", () => {
        setLevel(i);
        row.focus();
      });
      $("tree").append(row);
    });
  const legend = () => {
    const list = $("legend");
    list.replaceChildren();
    if (now.quantity < 0) {
      const { names, colours, shares } = levels[now.level];
      names.forEach((name, j) => {
        const item = make("li"),
          swatch = make("span", undefined, "swatch"),
          text = make("span", name, "name");
        swatch.style.background = css(shade(colours[j]));
        text.title = name;
        item.append(swatch, text, make("span", percent(shares[j]), "soft"));
        list.append(item);
      });
      return;
    }
    const { label: name, unit, limits, scale } = quantities[now.quantity],
      item = make("li", undefined, "wide"),
      bar = make("span", undefined, "gradient");
    bar.style.background = `linear-gradient(to right, ${D.scales[scale].map(hex => css(shade(hex))).join(",")})`;
    item.append(make("span", limits[0].toPrecision(2)), bar, make("span", limits[1].toPrecision(2)));
    list.append(make("li", unit ? `${name}, ${unit}` : name, "wide"), item);
  };

  // ---- controls
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const onKeys = (id, act) =>
    $(id).addEventListener("keydown", event => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && act(event) !== false) event.preventDefault();
    });
  onKeys("map-over", event => {
    if (arrows[event.key]) select(neighbour(...arrows[event.key]));
    else if (event.key === "+" || event.key === "=") zoomMap(1.5);
    else if (event.key === "-") zoomMap(1 / 1.5);
    else if (event.key === "0") fitMap();
    else if (event.key === "Enter" || event.key === " ") togglePlay();
    else return false;
    return true;
  });
  onKeys("path-over", event => {
    if (arrows[event.key]) {
      const [x, y] = arrows[event.key];
      pathView.pan(-40 * x, 40 * y);
      paint("path");
    } else if (event.key === "+" || event.key === "=") zoomPath(1.5);
    else if (event.key === "-") zoomPath(1 / 1.5);
    else if (event.key === "0") wholePath();
    else return false;
    return true;
  });
  onKeys("time-over", event => {
    const big = event.shiftKey ? Math.max(1, Math.round(rate)) : 1;
    if (event.key === "ArrowLeft") stepFrame(-big);
    else if (event.key === "ArrowRight") stepFrame(big);
    else if (event.key === "ArrowUp") setAnimal(now.animal - 1);
    else if (event.key === "ArrowDown") setAnimal(now.animal + 1);
    else if (event.key === "Home") stepFrame(-Infinity);
    else if (event.key === "End") stepFrame(Infinity);
    else if (event.key === "+" || event.key === "=") zoomTime(1.5);
    else if (event.key === "-") zoomTime(1 / 1.5);
    else if (event.key === "0") setTime(0, longest);
    else if (event.key === "Enter" || event.key === " ") toggleReplay();
    else return false;
    return true;
  });
  onKeys("tree", event => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (by === undefined && event.key !== " " && event.key !== "Enter") return false;
    setLevel(now.level + (by ?? 0));
    $("tree").children[now.level].focus();
    return true;
  });
  const zoomMap = (factor, x, y) => {
    mapView.zoomBy(factor, x, y);
    paint("map", "mapOver");
  };
  const fitMap = () => {
    mapView.reset();
    paint("map", "mapOver");
  };
  const zoomPath = (factor, x, y) => {
    pathView.zoomBy(factor, x, y);
    paint("path");
  };
  const wholePath = () => {
    pathView.reset();
    paint("path");
  };
  const togglePlay = () => {
    playing = !playing;
    clockStart = performance.now();
    setPressed("play", playing, playing ? "Pause" : "Play");
  };
  const toggleReplay = () => {
    replaying = !replaying;
    if (replaying && now.frame < 0) stepFrame(0);
    if (replaying && simulation) {
      simulation = null;
      setPressed("simulate", false, "Simulate");
      fitPath();
    }
    setPressed("replay", replaying, replaying ? "Stop" : "Play from here");
    paint("body", "mapOver");
  };
  navigate($("map-over"), {
    zoom: zoomMap,
    pan: (dx, dy) => {
      mapView.pan(dx, dy);
      paint("map", "mapOver");
    },
    click: (x, y) => {
      const k = nearest(x, y, 40);
      if (k >= 0) select(k);
    },
    hover: (x, y) => {
      const k = nearest(x, y, 14);
      hover(k === now.state ? -1 : k);
      const tip = $("tip");
      tip.hidden = k < 0;
      if (k >= 0) {
        const ratio = $("map").width / $("map").clientWidth;
        tip.textContent = `${k} · ${stateName(k)} · ${percent(share[k] || 0)}`;
        tip.style.left = `${clamp(x / ratio + 12, 0, Math.max(0, $("map").clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${Math.max(0, y / ratio - 30)}px`;
      }
    },
    leave: () => {
      hover(-1);
      $("tip").hidden = true;
    },
  });
  navigate($("path-over"), {
    zoom: zoomPath,
    pan: (dx, dy) => {
      pathView.pan(dx, dy);
      paint("path");
    },
    click: (x, y) => {
      if (path && !simulation) {
        const i = nearestOnPath(x, y);
        if (i >= 0) {
          selectFrame(i);
          followTime();
        }
      }
    },
  });
  const timeAt = x => now.from + (x / ($("time").width / $("time").clientWidth || 1) - MARGIN) / timeScale();
  navigate($("time-over"), {
    zoom: (factor, x) => zoomTime(factor, clamp(timeAt(x), now.from, now.to)),
    pan: dx => {
      const by = timeAt(0) - timeAt(dx);
      setTime(now.from + by, now.to + by);
    },
    click: (x, y) => {
      const a = clamp(Math.floor(y / ($("time").width / $("time").clientWidth) / rowHeight()), 0, nAnimals - 1),
        frame = offsets[a] + Math.floor(timeAt(x) * rate);
      if (offsets[a + 1] > offsets[a]) selectFrame(clamp(frame, offsets[a], offsets[a + 1] - 1));
    },
  });
  const press = (id, act) => $(id).addEventListener("click", act);
  press("map-in", () => zoomMap(1.6));
  press("map-out", () => zoomMap(1 / 1.6));
  press("map-fit", fitMap);
  press("path-in", () => zoomPath(1.6));
  press("path-out", () => zoomPath(1 / 1.6));
  press("path-fit", wholePath);
  press("time-in", () => zoomTime(1.8));
  press("time-out", () => zoomTime(1 / 1.8));
  press("time-fit", () => setTime(0, longest));
  press("play", togglePlay);
  press("replay", toggleReplay);
  press("simulate", simulate);
  const setRecorded = recorded => {
    now.recorded = recorded;
    now.window = -1;
    setPressed("mean", !recorded);
    setPressed("recorded", recorded);
    clockStart = performance.now();
    paint("body");
  };
  press("mean", () => setRecorded(false));
  press("recorded", () => setRecorded(true));
  const setTheme = dark => {
    document.documentElement.classList.toggle("dark", dark);
    $("theme").textContent = dark ? "Light" : "Dark";
    recolour();
  };
  press("theme", () => setTheme(!isDark()));
  $("colour").addEventListener("change", event => {
    now.quantity = Number(event.target.value);
    recolour();
  });

  // ---- the clock
  let lastTick = performance.now(),
    owed = 0;
  const tick = time => {
    requestAnimationFrame(tick);
    const passed = Math.min(0.1, (time - lastTick) / 1000);
    lastTick = time;
    if (simulation?.running || replaying) {
      owed += passed * rate * Number($("speed").value);
      const n = Math.floor(owed);
      owed -= n;
      if (n && simulation?.running) runSimulation(n);
      else if (n) runRecording(n);
      return;
    }
    if (!playing || shownState() < 0) return;
    const seconds = ((time - clockStart) / 1000) % (K / rate + HOLD),
      at = Math.min(K - 1, Math.max(0, Math.floor(seconds * rate)));
    if (at !== phase) {
      phase = at;
      paint("body");
    }
  };
  const runSimulation = n => {
    for (let i = 0; i < n; i++) simulation.advance();
    simulation.look();
    if (simulation.state !== now.state) select(simulation.state, -1, { quiet: true });
    paint("path", "mapOver", "body");
    if (simulation.length > LONGEST_WALK) simulate();
  };
  const runRecording = n => {
    const last = offsets[now.animal + 1] - 1;
    if (now.frame < 0 || now.frame >= last) {
      toggleReplay();
      return;
    }
    selectFrame(Math.min(now.frame + n, last), { quiet: true });
    followTime();
    paint("body");
  };

  // ---- begin
  $("about").textContent = D.about;
  $("map-source").textContent = D.mapSource;
  $("colour").append(new Option("state", "-1"), ...quantities.map((one, i) => new Option(one.label, String(i))));
  if (!rows.length) $("simulate").disabled = true;
  setPressed("play", playing, playing ? "Pause" : "Play");
  growTree();
  // Room for the finest level, so that the path beside it keeps its size.
  $("legend").style.minHeight = `${1.3 * Math.min(6, Math.ceil(levels.at(-1).names.length / 2))}rem`;
  mixColours();
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  setTheme(darkQuery.matches);
  darkQuery.addEventListener("change", event => setTheme(event.matches));
  fitPath();
  select(mostVisited(), -1, { quiet: true });
  const watch = new ResizeObserver(() => paint("map", "mapOver", "time", "timeOver", "path", "body"));
  document.querySelectorAll(".stage").forEach(stage => watch.observe(stage));
  requestAnimationFrame(tick);
  // Browsers compile a drawing to fast code only after several runs. Idle time has them, so that no user waits for it;
  // what is drawn again is the same picture.
  const whenIdle = window.requestIdleCallback ?? (act => setTimeout(act, 50));
  const warmUp = names => {
    if (!names.length) return;
    PAINT[names[0]]();
    whenIdle(() => warmUp(names.slice(1)));
  };
  const WARM_RUNS = 6;
  whenIdle(() => warmUp(Array(WARM_RUNS).fill(["map", "time", "path"]).flat()));
  // A handle for tests and for the curious.
  window.explorer = Object.freeze({
    now,
    flush,
    propel,
    shapeOf,
    select,
    selectFrame,
    setLevel,
    setTime,
    palette,
    get simulation() {
      return simulation;
    },
    nFrames,
  });
})();
