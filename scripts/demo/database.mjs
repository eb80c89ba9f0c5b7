import { createConnection } from 'mysql2/promise';

/** A database of the demo's own in the given server. */
export class Database {
  #connection;
  #name;

  /**
   * @param {import('mysql2/promise').Connection} connection
   * @param {string} name
   * @param {string} url
   */
  constructor(connection, name, url) {
    this.#connection = connection;
    this.#name = name;
    this.url = url;
  }

  /**
   * @param {string} serverUrl
   * @param {string} name
   * @param {import('../lib/cleanup.mjs').Cleanup} cleanup
   */
  static async create(serverUrl, name, cleanup) {
    const url = new URL(serverUrl);
    url.pathname = '/';
    const connection = await createConnection(url.href);
    url.pathname = `/${name}`;
    const database = new Database(connection, name, url.href);
    cleanup.add(() => database.#drop());
    await connection.query(`CREATE DATABASE ${name}`);
    await connection.query(`USE ${name}`);
    return database;
  }

  async #drop() {
    await this.#connection.query(`DROP DATABASE IF EXISTS ${this.#name}`);
    await this.#connection.end();
  }

  /**
   * A voucher whose sale is on.
   *
   * @param {number} stock
   * @returns {Promise<number>} its id
   */
  async newVoucher(stock) {
    const [{ insertId }] = /** @type {[import('mysql2').ResultSetHeader, unknown]} */ (
      await this.#connection.query(
        'INSERT INTO seckill_voucher (stock, begin, end) VALUES (?, NOW() - INTERVAL 1 DAY, NOW() + INTERVAL 1 DAY)',
        [stock],
      )
    );
    return insertId;
  }

  /**
   * @param {number} voucherId
   * @returns {Promise<{ stockLeft: number, orders: number, users: number }>}
   */
  async soldOf(voucherId) {
    const [[sold]] = /** @type {[{ stockLeft: number, orders: number, users: number }[], unknown]} */ (
      await this.#connection.query(
        `SELECT stock AS stockLeft,
          (SELECT COUNT(*) FROM voucher_order WHERE voucherId = voucher.id) AS orders,
          (SELECT COUNT(DISTINCT userId) FROM voucher_order WHERE voucherId = voucher.id) AS users
        FROM seckill_voucher AS voucher WHERE id = ?`,
        [voucherId],
      )
    );
    if (!sold) throw new Error(`There is no voucher ${voucherId}`);
    return sold;
  }
}
