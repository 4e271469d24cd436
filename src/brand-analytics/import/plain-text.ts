/** Printable ASCII: nearly all of what comes by, and quickly told. */
const PLAIN = /^[ -~]*$/;

/** Line ends, tabs and what is no character: no name needs them, and some of them no database takes. */
const CONTROLS = /[\p{Cc}\p{Cs}]+/gu;

export function withoutControls(text: string): string {
  if (PLAIN.test(text)) return text;
  const plain = text.replace(CONTROLS, ' ');
  return plain === text ? text : plain.trim();
}
