// A table whose rows are known by a key: a change of one minion touches one row, not a thousand.

import { h, replace } from "./dom.js";

export class KeyedTable {
  /**
   * `columns`: `{title, cell(row) → node or text, sort(row) → value, wide}`; wide ones are not shown
   * on a phone. `key(row)` is unique.
   */
  constructor(columns, key, caption) {
    this.columns = columns;
    this.key = key;
    this.rows = new Map();
    this.elements = new Map();
    this.sortBy = { column: columns[0], down: false };
    this.accepts = () => true;
    this.body = h("tbody");
    this.element = h("div", { class: "scroll" }, h("table", { "aria-label": caption },
      h("thead", {}, h("tr", {}, columns.map((column) => this.heading(column)))), this.body));
  }

  heading(column) {
    const attributes = { class: column.wide ? "wide" : null, scope: "col" };
    if (!column.sort) return h("th", attributes, column.title);
    return h("th", attributes, h("button", {
      type: "button",
      onclick: () => {
        this.sortBy = { column, down: this.sortBy.column === column && !this.sortBy.down };
        this.arrange();
      },
    }, column.title));
  }

  /** Replace all rows. */
  set(rows) {
    this.rows = new Map(rows.map((row) => [this.key(row), row]));
    this.elements.clear();
    this.arrange();
  }

  get(key) {
    return this.rows.get(key);
  }

  /** Add or replace one row; the order of those there is kept. */
  update(row) {
    const key = this.key(row);
    const known = this.elements.get(key);
    this.rows.set(key, row);
    if (!known) {
      this.arrange();
      return;
    }
    const fresh = this.makeElement(row);
    known.replaceWith(fresh);
    this.elements.set(key, fresh);
  }

  remove(key) {
    this.rows.delete(key);
    this.elements.get(key)?.remove();
    this.elements.delete(key);
  }

  /** Show only rows that `accepts` lets pass. */
  filter(accepts) {
    this.accepts = accepts;
    this.arrange();
  }

  arrange() {
    const { column, down } = this.sortBy;
    const rows = [...this.rows.values()].filter((row) => this.accepts(row));
    if (column.sort) rows.sort((one, other) => compare(column.sort(one), column.sort(other)));
    if (down) rows.reverse();
    replace(this.body, rows.map((row) => this.elementOf(row)));
  }

  elementOf(row) {
    const key = this.key(row);
    if (!this.elements.has(key)) this.elements.set(key, this.makeElement(row));
    return this.elements.get(key);
  }

  makeElement(row) {
    return h("tr", { "data-key": this.key(row) },
      this.columns.map((column) => h("td", { class: column.wide ? "wide" : null }, column.cell(row))));
  }
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true });
}
