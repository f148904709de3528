/* Texts of every table. */

export const columnsMenu = {
  columns: 'Columns',
  reset: 'Reset',
};
