/** Printable ASCII: a quick test that nearly all names pass. */
const PLAIN = /^[ -~]*$/;

/**
 * Line ends, tabs and other control characters, and lone surrogates. Names need none of them, and PostgreSQL
 * rejects some.
 */
const CONTROLS = /[\p{Cc}\p{Cs}]+/gu;

export function withoutControls(text: string): string {
  if (PLAIN.test(text)) return text;
  const plain = text.replace(CONTROLS, ' ');
  return plain === text ? text : plain.trim();
}
