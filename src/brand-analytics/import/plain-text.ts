/** Printable ASCII: nearly all of what comes by, and quickly told. */
const PLAIN = /^[ -~]*$/;

/** Line ends, tabs and what is no character: no name needs them, and some of them no database takes. */
const CONTROLS = /[\p{Cc}\p{Cs}]+/gu;

export function withoutControls(text: string): string {
  return PLAIN.test(text) ? text : text.replace(CONTROLS, ' ');
}
