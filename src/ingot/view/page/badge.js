// The badge of a box that is coloured by a measure: its amount, and a bar as long as its share.
// @ts-check

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./draw.js").Theme} theme
 * @param {import("./measures.js").Mark} mark
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 */
export function badge(context, theme, mark, x, y, w, h) {
  if (!mark.label) return;
  context.fillStyle = theme.is_dark ? "#ffb27a" : "#b4470f";
  context.fillRect(x + 1, y + h - 3, Math.max(1.5, (w - 2) * mark.share), 2.5);
  context.font = '9px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  context.textAlign = "left";
  context.lineWidth = 3;
  context.strokeStyle = theme.ground;
  context.strokeText(mark.label, x + 2, y - 3);
  context.fillText(mark.label, x + 2, y - 3);
}
