const width = 30;

/** A bar on a terminal, plain lines elsewhere; on stderr, since stdout is for the results. */
export class Progress {
  #done = 0;
  #total;
  #label = '';

  /** @param {number} total how many steps there are */
  constructor(total) {
    this.#total = total;
  }

  /** @param {string} label what happens now */
  begin(label) {
    if (label !== this.#label && !process.stderr.isTTY) process.stderr.write(`${label} …\n`);
    this.#label = label;
    this.#draw();
  }

  /** The step that has begun is done. */
  step() {
    this.#done = Math.min(this.#total, this.#done + 1);
    this.#draw();
  }

  /** Leaves a clean line. */
  end() {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  #draw() {
    if (!process.stderr.isTTY) return;
    const filled = Math.round((width * this.#done) / this.#total);
    const bar = '█'.repeat(filled) + '░'.repeat(width - filled);
    process.stderr.write(`\r\x1b[K${bar} ${Math.round((100 * this.#done) / this.#total)} % ${this.#label}`);
  }
}
