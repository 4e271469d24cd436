/** The days between a week and those with which a screen compares it. */
export const FIRST_CHANGE_DAYS = 28;
export const SECOND_CHANGE_DAYS = 84;

/** The change of a term that was not ranked in the earlier week, or whose earlier week is not loaded: the lowest integer. */
export const UNKNOWN_CHANGE = -2_147_483_648;
