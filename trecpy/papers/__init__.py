"""Figures of single papers, by the rules that their authors computed them with."""
