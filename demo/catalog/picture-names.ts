/** What a picture shows. */
export interface Pictured {
  /** Index of the leaf. */
  leaf: number;
  /** Index of the colour or other look. */
  look: number;
  /** Seeds of the family's and of the product's details. */
  seed: number;
  variant: number;
}

const NAME = /^4([0-9A-Z]{2})([0-9A-Z])([0-9A-Z]{3})([0-9A-Z]{2})([LM])\.svg$/;

/** Returns the file name of a picture, which says all about it. The name of its smaller version ends with M. */
export function pictureName({ leaf, look, seed, variant }: Pictured): string {
  return `4${base36(leaf, 2)}${base36(look, 1)}${base36(seed, 3)}${base36(variant, 2)}L.svg`;
}

/** Reads a file name; null for one that is not of this form. */
export function readPictureName(name: string): (Pictured & { sizePixels: number }) | null {
  const [, leaf, look, seed, variant, size] = NAME.exec(name) ?? [];
  if (size === undefined) return null;
  const [leafNumber = 0, lookNumber = 0, seedNumber = 0, variantNumber = 0] = [leaf, look, seed, variant].map(
    (digits) => Number.parseInt(digits ?? '', 36),
  );
  return {
    leaf: leafNumber,
    look: lookNumber,
    seed: seedNumber,
    variant: variantNumber,
    sizePixels: size === 'L' ? 1500 : 500,
  };
}

function base36(value: number, digits: number): string {
  return (value % 36 ** digits).toString(36).toUpperCase().padStart(digits, '0');
}
