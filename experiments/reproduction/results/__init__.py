"""What the finished runs of a figure show: CSV files, a picture and a summary on the screen.

`base` has what all results have in common. Each of the other files draws one kind of figure; a `Figure` of the sibling
package `figures` names its class as its `drawing`.
"""
