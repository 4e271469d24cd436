export const SOURCES: readonly string[];
export const COPIED: readonly string[];
