/** @typedef {import('../competitors/index.mjs').Competitor} Competitor */

/** @param {Competitor} competitor */
export const locks = ({ group }) => group !== 'publish';

/** @param {Competitor} competitor */
export const waiting = (competitor) => locks(competitor) && competitor.waits !== false;
