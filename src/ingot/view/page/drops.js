// Models that are dropped onto the page: each gets a page of its own.
// @ts-check
import { announce } from "./elements.js";
import { isSaved, post } from "./transport.js";

const MODELS = [".onnx", ".ort", ".onnxtxt"];

export function dropping() {
  if (isSaved) return;
  const modelOf = (/** @type {DragEvent} */ event) => [...(event.dataTransfer?.files || [])].find((file) => MODELS.some((suffix) => file.name.toLowerCase().endsWith(suffix)));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    const file = modelOf(event);
    event.preventDefault();
    if (!file) return;
    announce(`opening ${file.name} …`);
    try {
      const answer = await post(`open/${encodeURIComponent(file.name)}`, await file.arrayBuffer(), undefined, "");
      if (answer.refused) announce(answer.refused, true);
      else location.href = answer.url;
    } catch (error) {
      announce(/** @type {Error} */ (error).message, true);
    }
  });
}
