import { InvalidArgumentError } from 'commander';

/** Reads the value of an option. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}
