import type { HandlersOf } from '../handler.ts';

export const RESEARCH_HANDLERS: HandlersOf<'research'> = {};
