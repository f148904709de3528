import { apiBoard } from './api-board.ts';
import { boardJson, type Board } from './board.ts';
import { controlPlaneBoard } from './control-plane-board.ts';
import { fleetBoard } from './fleet-board.ts';
import { overviewBoard } from './overview-board.ts';
import { rateBoard } from './rate-board.ts';
import { sloBoard } from './slo-board.ts';

export const BOARDS: readonly Board[] = [overviewBoard, sloBoard, apiBoard, rateBoard, fleetBoard, controlPlaneBoard];

/** The text of a board's file. */
export const boardText = (board: Board): string => `${JSON.stringify(boardJson(board), undefined, 2)}\n`;
