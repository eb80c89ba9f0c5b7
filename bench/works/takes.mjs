/** @typedef {import('../competitors/index.mjs').Competitor} Competitor */

/** @param {Competitor} competitor */
export const locks = ({ group }) => group === 'own' || group === 'floor' || group === 'peer';

/** @param {Competitor} competitor */
export const waiting = (competitor) => locks(competitor) && competitor.waits !== false;
