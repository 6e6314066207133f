"use strict";
(() => {
  const crawl = JSON.parse(document.getElementById("crawl-data").textContent);
  const bytes = Uint8Array.from(atob(crawl.data), c => c.charCodeAt(0));
  const body = new Float32Array(bytes.buffer);
  const canvas = document.getElementById("crawl"), pen = canvas.getContext("2d"), button = document.getElementById("play");
  const n = crawl.points, size = 2 * n;
  let minX = Infinity, maxX = -Infinity, minY = Infinity, maxY = -Infinity;
  for (let i = 0; i < body.length; i += 2) {
    minX = Math.min(minX, body[i]); maxX = Math.max(maxX, body[i]);
    minY = Math.min(minY, body[i + 1]); maxY = Math.max(maxY, body[i + 1]);
  }
  const scale = 0.9 * Math.min(canvas.width / (maxX - minX), canvas.height / (maxY - minY));
  const px = x => canvas.width / 2 + scale * (x - (minX + maxX) / 2), py = y => canvas.height / 2 - scale * (y - (minY + maxY) / 2);
  let frame = 0, playing = !matchMedia("(prefers-reduced-motion: reduce)").matches, last = 0;
  const draw = () => {
    const style = getComputedStyle(document.body);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.lineCap = pen.lineJoin = "round";
    pen.strokeStyle = style.getPropertyValue("--line"); pen.lineWidth = 3; pen.beginPath();
    for (let f = 0; f <= frame; f++) { const at = f * size + 2 * (n >> 1); pen.lineTo(px(body[at]), py(body[at + 1])); }
    pen.stroke();
    pen.strokeStyle = style.getPropertyValue("--accent"); pen.lineWidth = Math.max(4, 0.05 * scale); pen.beginPath();
    for (let p = 0; p < n; p++) { const at = frame * size + 2 * p; pen.lineTo(px(body[at]), py(body[at + 1])); }
    pen.stroke();
    pen.fillStyle = style.getPropertyValue("--ink"); pen.beginPath();
    pen.arc(px(body[frame * size]), py(body[frame * size + 1]), Math.max(4, 0.035 * scale), 0, 7); pen.fill();
    pen.strokeStyle = style.getPropertyValue("--soft"); pen.lineWidth = 4; pen.beginPath();
    pen.moveTo(30, canvas.height - 30); pen.lineTo(30 + scale, canvas.height - 30); pen.stroke();
  };
  const label = () => { button.textContent = playing ? "Pause" : "Play"; };
  const tick = now => {
    if (playing && now - last > 1000 / crawl.rate) { last = now; frame = (frame + 1) % crawl.frames; draw(); }
    requestAnimationFrame(tick);
  };
  button.onclick = () => { playing = !playing; label(); };
  label(); draw(); requestAnimationFrame(tick);
})();
