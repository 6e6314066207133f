"use strict";
(() => {
  const packed = JSON.parse(document.getElementById("clip-data").textContent), n = packed.points;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const button = document.getElementById("play-clips");
  const clips = [...document.querySelectorAll("canvas.clip")].map((canvas, k) => {
    const bytes = Uint8Array.from(atob(packed.clips[k].data), c => c.charCodeAt(0));
    return { canvas, pen: canvas.getContext("2d"), body: new Float32Array(bytes.buffer), ...packed.clips[k] };
  });
  const draw = (clip, frame) => {
    const { canvas, pen, body } = clip, scale = 0.85 * canvas.width, at = p => 2 * (frame * n + p);
    const x = p => canvas.width / 2 + scale * body[at(p)], y = p => canvas.height / 2 - scale * body[at(p) + 1];
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.lineCap = pen.lineJoin = "round"; pen.lineWidth = 14; pen.strokeStyle = clip.colour; pen.beginPath();
    for (let p = 0; p < n; p++) pen.lineTo(x(p), y(p));
    pen.stroke();
    pen.fillStyle = getComputedStyle(document.body).getPropertyValue("--ink");
    pen.beginPath(); pen.arc(x(0), y(0), 8, 0, 7); pen.fill();
  };
  let playing = !still, time = 0, last = 0;
  const show = () => clips.forEach(clip => draw(clip, Math.floor(time * packed.rate) % clip.frames));
  const tick = now => { if (playing) { time += Math.min(0.1, (now - last) / 1000); show(); } last = now; requestAnimationFrame(tick); };
  const label = () => { button.textContent = playing ? "Pause" : "Play"; };
  button.onclick = () => { playing = !playing; label(); };
  label(); show(); requestAnimationFrame(tick);
})();
