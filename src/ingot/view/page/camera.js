// A frame of the camera as a file.
// @ts-check
import { make } from "./elements.js";

/**
 * Show what the camera sees, and return the frame that is chosen; null if none is.
 * @returns {Promise<File | null>}
 */
export async function takePicture() {
  if (!navigator.mediaDevices) throw new Error("this browser gives the page no camera");
  /** @type {MediaStream} */
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: true });
  } catch (error) {
    throw new Error(`no camera: ${/** @type {Error} */ (error).message}`);
  }
  const video = make("video", { autoplay: true, muted: true, playsInline: true, srcObject: stream });
  /** @type {File | null} */
  let file = null;
  await new Promise((resolve) => {
    const dialog = make("dialog", { class: "camera", onclose: () => {
      dialog.remove();
      resolve(null);
    } }, video, make("div", { class: "row" }, make("button", { class: "primary", onclick: async () => {
      file = await frame(video);
      dialog.close();
    } }, "Use this frame"), make("button", { onclick: () => dialog.close() }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
  });
  for (const track of stream.getTracks()) track.stop();
  return file;
}

/**
 * @param {HTMLVideoElement} video
 * @returns {Promise<File>}
 */
async function frame(video) {
  if (!video.videoWidth) await new Promise((resolve) => video.addEventListener("loadeddata", resolve, { once: true }));
  const canvas = make("canvas", { width: video.videoWidth, height: video.videoHeight });
  canvas.getContext("2d").drawImage(video, 0, 0);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  return new File([blob], "camera.png");
}
