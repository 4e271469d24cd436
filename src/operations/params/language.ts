import { z } from 'zod';
import { problem } from './scalars.ts';

const FAULT = problem('must be a language such as en-US, zh-CN or ja');

/** A language with optional script and region; es-419 is Latin American Spanish. */
const SHAPE = /^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?$/;

/** Tags that mean no language, or several. */
const NO_LANGUAGES = new Set(['und', 'mul', 'mis', 'zxx']);

const LANGUAGES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
const REGIONS = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** The language of names and words in an answer, in canonical spelling. */
export function language() {
  return z
    .string(FAULT)
    .trim()
    .refine(isLanguage, FAULT)
    .transform((tag) => new Intl.Locale(tag).toString())
    .default('en-US')
    .meta({
      description: 'Language code',
      pattern: '^[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?$',
      maxLength: 12,
      examples: ['en-US', 'de', 'zh-CN'],
    });
}

function isLanguage(tag: string): boolean {
  if (!SHAPE.test(tag) || NO_LANGUAGES.has(tag.split('-')[0]?.toLowerCase() ?? '')) return false;
  const { language, region } = new Intl.Locale(tag);
  const hasRegion = region === undefined || (region !== 'ZZ' && REGIONS.of(region) !== undefined);
  return hasRegion && LANGUAGES.of(language) !== undefined;
}
